import Martlet
import MartletLink
import MartletSimulator
import MartletTestKit
import MartletWire
import Testing

/// Renewals of credentials between both engines, in virtual time.
@Suite struct RenewalTests {
    private func world(lifetime: Duration = .seconds(60), loopCount: Int = 1) -> (VirtualWorld, VirtualClient) {
        let world = VirtualWorld(loopCount: loopCount)
        world.relay.credentialLifetime = lifetime
        let client = world.addClient("alice")
        client.credentials = .gives(Credential("token"))
        world.act(client) { $0.handle(.start, now: $1) }
        return (world, client)
    }

    // C-66, C-71
    @Test(arguments: [1, 3]) func `a lifetime of 60 s, an hour -> one connection`(loopCount: Int) {
        let (world, client) = world(loopCount: loopCount)
        world.run(for: .seconds(3600))
        #expect(client.engine.status.isOnline)
        #expect(client.engine.status.reconnects == 0)
        let fetches = client.outputs.count { if case .link(.fetchCredential) = $0.output { true } else { false } }
        #expect((3600 / 48...3600 / 42).contains(fetches))
    }

    // C-71
    @Test func `a path with 2 s of delay and a lifetime of 30 s -> one connection`() {
        let world = VirtualWorld()
        world.relay.credentialLifetime = .seconds(30)
        let client = world.addClient("alice", conditions: PathConditions(delay: .seconds(2)))
        client.credentials = .gives(Credential("token"), after: .milliseconds(500))
        world.act(client) { $0.handle(.start, now: $1) }
        world.run(for: .seconds(300))
        #expect(client.engine.status.reconnects == 0)
        #expect(client.engine.status.isOnline)
    }

    // C-66, C-71
    @Test func `a credential that comes too late -> the connection ends at its expiry, and the link is resumed`() {
        let (world, client) = world()
        world.run(for: .seconds(1))
        client.credentials = .gives(Credential("token"), after: .seconds(20))
        world.run(for: .seconds(61))
        #expect(client.engine.status.lastCode == .unauthenticated || client.engine.status.reconnects > 0)
        client.credentials = .gives(Credential("token"))
        world.run(for: .seconds(60))
        #expect(client.engine.status.isOnline)
        #expect(client.engine.status.resumes == 1)
    }

    // C-71
    @Test func `a connection that breaks during a renewal -> resumed with a credential of its own`() {
        let (world, client) = world()
        world.run(for: .seconds(1))
        client.credentials = .gives(Credential("token"), after: .seconds(5))
        world.run(for: .seconds(48))
        world.cut(client)
        world.run(for: .seconds(200))
        #expect(client.engine.status.isOnline)
        #expect(client.engine.status.reconnects == 1)
        #expect(client.engine.status.resumes == 1)
    }
}
