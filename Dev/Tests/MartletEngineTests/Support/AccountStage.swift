import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay

/// Clients with sessions of their accounts in a virtual world.
struct AccountStage {
    let world: VirtualWorld

    init(
        relay: RelayConfiguration = RelayConfiguration(), loopCount: Int = 1, seed: UInt64 = 1
    ) {
        world = VirtualWorld(relay: relay, loopCount: loopCount, seed: seed)
    }

    /// A running client that uses the list of its rooms.
    func client(_ account: String, device: UInt64? = nil, list: Bool = true) -> VirtualClient {
        let client = world.addClient(account, conditions: PathConditions(), carrier: .reliable) {
            $0.link.features.formUnion([.compact, .accountSession])
            if let device { $0.link.device = DeviceID(rawValue: device) }
        }
        world.act(client) { engine, now in
            if list { engine.useAccount(list: true, now: now) }
            engine.handle(.start, now: now)
        }
        world.run(for: .seconds(3))
        return client
    }

    /// Performs an operation and returns its status.
    func perform(
        _ operation: MembershipOperation, _ client: VirtualClient, in room: RoomName = .lobby
    ) throws -> ErrorCode? {
        try request(operation.method.name, operation.content(of: room), client)
    }

    func request(_ method: MethodName, _ content: [UInt8]?, _ client: VirtualClient) throws -> ErrorCode? {
        let number = try world.act(client) {
            try $0.accountRequest(method, content: content, deadline: .seconds(30), now: $1)
        }
        world.run(for: .seconds(5))
        guard case .answered(let status, _, _, _) = client.outcome(of: number) else { return nil }
        return status
    }

    /// Opens a room for a client.
    func open(_ client: VirtualClient, _ room: RoomName = .lobby) throws -> RoomID {
        let id = try world.act(client) { try $0.open(room, RoomOptions(), now: $1) }
        world.run(for: .seconds(1))
        return id
    }
}

extension VirtualClient {
    /// The list of the account's rooms as its application knows it.
    var rooms: [RoomName: RoomEntry] {
        var rooms: [RoomName: RoomEntry] = [:]
        for case .account(let event) in outputs.map(\.output) {
            switch event {
            case .listed(let entries): rooms = Dictionary(uniqueKeysWithValues: entries.map { ($0.room, $0) })
            case .changed(let entry): rooms[entry.room] = entry.membership == .none ? nil : entry
            case .interrupted, .unavailable: break
            }
        }
        return rooms
    }

    /// The events of the account's session.
    var accountEvents: [AccountEvent] {
        outputs.compactMap { if case .account(let event) = $0.output { event } else { nil } }
    }
}
