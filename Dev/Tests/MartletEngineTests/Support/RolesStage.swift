import MartletSimulator
import MartletTestSupport
import MartletWire

@testable import MartletLink
@testable import MartletRelay

/// A relay that keeps roles, whose account "root" administers all rooms.
struct RolesStage {
    let stage: RelayStage

    var relay: VirtualRelay { stage.relay }

    init(maxRoomsPerAccount: Int = 256, permissions: RoomPermissions = .all) {
        stage = RelayStage {
            var roles = RoomRolesConfiguration()
            roles.maxRoomsPerAccount = maxRoomsPerAccount
            $0.roomRoles = roles
            $0.asksRoomPolicy = true
        }
        stage.relay.policy = { request in
            let administers = request.identity.account == .named("root")
            return .granted(administers ? permissions.union(.administer) : permissions)
        }
    }

    func member(_ account: String, device: UInt64 = 1, of room: RoomName = .lobby) -> RawPeer {
        stage.member(account, device: device, of: room)
    }

    /// The saved roles of the room.
    var roles: RoomRoles? { relay.roles[.lobby].flatMap { try? RoomRoles(decoding: $0) } }

    /// The operations and creations that were noted, with their statuses.
    var notes: [String] {
        relay.notes.compactMap { note in
            switch note {
            case .roomCreated(let who, _, let status): "create by \(who.account): \(status.name)"
            case .roomOperation(let record):
                "\(record.method.rawValue.dropFirst(5)) \(record.target?.text ?? "") by \(record.actor.account): "
                    + record.status.name
            default: nil
            }
        }
    }
}

extension RawPeer {
    /// Requests an operation. Returns the correlation.
    @discardableResult
    func request(_ operation: RoomOperation, deadline: Duration = .seconds(60)) -> UInt64 {
        operationCount += 1
        let correlation = 1000 + operationCount
        say(
            Request(
                correlation: correlation, method: operation.method.name, deadline: deadline, content: operation.content
            ), on: .first)
        return correlation
    }

    /// Requests an operation and returns the status of the response; nil without a response.
    @discardableResult
    func operate(_ operation: RoomOperation) -> ErrorCode? {
        status(of: request(operation))
    }

    /// The status of the response to a request; nil without a response.
    func status(of correlation: UInt64) -> ErrorCode? {
        log.all(Response.self).last { $0.correlation == correlation }?.status
    }

    /// The counters of refused messages.
    var refused: [UInt64] {
        log.all(Receipt.self).compactMap { if case .refused(let refusal) = $0 { refusal.counter } else { nil } }
    }

    /// The counters of accepted messages.
    var accepted: [UInt64] { log.all(Accepted.self).flatMap(\.runs).flatMap { Array($0.counters) } }

    /// The codes with which sessions were reset.
    var resets: [ErrorCode] { log.all(Reset.self).map(\.code) }

    /// The texts that were delivered.
    var texts: [String] { log.all(Message.self).compactMap(\.text) }
}
