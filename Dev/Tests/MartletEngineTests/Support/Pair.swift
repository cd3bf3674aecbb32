import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay

/// Alice and Bob in one room of a virtual world.
struct Pair {
    let world: VirtualWorld
    let alice: VirtualClient
    let bob: VirtualClient
    let hers: RoomID
    let his: RoomID

    init(
        _ carrier: Carrier = .reliable, _ conditions: PathConditions = PathConditions(), seed: UInt64 = 1,
        relay: RelayConfiguration = RelayConfiguration(), _ options: RoomOptions = RoomOptions(),
        _ adjust: (inout ClientConfiguration) -> Void = { _ in }
    ) throws {
        world = VirtualWorld(relay: relay, seed: seed)
        alice = world.addClient("alice", conditions: conditions, carrier: carrier, adjust)
        bob = world.addClient("bob", conditions: conditions, carrier: carrier, adjust)
        hers = try world.open(.lobby, for: alice, options)
        his = try world.open(.lobby, for: bob, options)
    }

    /// Runs until both are online and in the room.
    func settle() {
        world.run(for: .seconds(3))
    }

    /// Sends lines from Alice and returns them.
    @discardableResult
    func say(_ numbers: ClosedRange<Int>, every pause: Duration = .zero) throws -> [String] {
        try numbers.map { number in
            try world.send("line \(number)", from: alice, in: hers)
            if pause > .zero { world.run(for: pause) }
            return "line \(number)"
        }
    }

    /// Whether all messages of Alice are accepted within a limit.
    func isAccepted(_ count: Int, within limit: Duration = .seconds(300)) -> Bool {
        world.run(until: world.now + limit) { alice.accepted[hers]?.count == count }
    }
}

extension VirtualWorld {
    /// Opens a room for a client and starts it.
    func open(
        _ room: RoomName, for client: VirtualClient, _ options: RoomOptions = RoomOptions()
    ) throws -> RoomID {
        let id = try act(client) { try $0.open(room, options, now: $1) }
        act(client) { $0.handle(.start, now: $1) }
        return id
    }
}
