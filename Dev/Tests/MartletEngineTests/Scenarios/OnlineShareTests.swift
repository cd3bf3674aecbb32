import Martlet
import MartletLink
import MartletSimulator
import Testing

/// The share of time in which a client with repeatedly cut connections is online, in virtual time.
@Suite struct OnlineShareTests {
    // C-55, C-56
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `with a cut every 3 s a client with the default configuration is online 70 % of ten minutes`(seed: UInt64) {
        let world = VirtualWorld(seed: seed)
        let client = world.addClient("alice") { $0.link.reconnect = ReconnectPolicy.Configuration() }
        client.remembers = false
        let began = world.now
        var online = Duration.zero
        var onlineSince: Instant?
        client.onOutput = { [unowned world] output in
            guard case .link(.status(let status)) = output else { return }
            if let since = onlineSince { online += world.now - since }
            onlineSince = status.isOnline ? world.now : nil
        }
        world.act(client) { $0.handle(.start, now: $1) }
        for _ in 1...200 {
            world.run(for: .seconds(3))
            world.cut(client)
        }
        if let since = onlineSince { online += world.now - since }
        #expect(online >= (world.now - began) * 7 / 10)
    }
}
