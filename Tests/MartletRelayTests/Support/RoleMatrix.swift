import MartletWire

@testable import MartletLink
@testable import MartletRelay

/// The operations on a room, and who may perform them on whom, as Specs/relay.md R-56 has them.
enum RoleMatrix {
    enum Rank: String, CaseIterable, Sendable {
        case outsider, reader, member, moderator, owner, administrator
    }

    /// An operation on an account.
    struct Operation: Sendable, CustomStringConvertible {
        var description: String
        var on: @Sendable (AccountName) -> RoomOperation
        /// The targets on which each actor may perform it.
        var permitted: [Rank: Set<Rank>]
    }

    private static let all = Set(Rank.allCases)
    private static let low: Set<Rank> = [.outsider, .reader, .member]
    private static let removal: [Rank: Set<Rank>] = [
        .administrator: all.subtracting([.administrator]), .owner: low.union([.moderator]), .moderator: low,
    ]
    private static let moderators: [Rank: Set<Rank>] = [.administrator: all, .owner: all, .moderator: all]
    private static let owners: [Rank: Set<Rank>] = [.administrator: all, .owner: all]

    static let operations: [Operation] = [
        Operation(description: "kick", on: { .kick($0) }, permitted: removal),
        Operation(description: "ban", on: { .ban($0) }, permitted: removal),
        Operation(description: "mute", on: { .mute($0, seconds: 60) }, permitted: removal),
        Operation(description: "unmute", on: { .unmute($0) }, permitted: removal),
        Operation(description: "unban", on: { .unban($0) }, permitted: moderators),
        Operation(description: "invite", on: { .invite($0) }, permitted: moderators),
        Operation(
            description: "set role to none", on: { .setRole(nil, of: $0) },
            permitted: [.administrator: all, .owner: all, .moderator: low]),
        Operation(
            description: "set role to reader", on: { .setRole(.reader, of: $0) },
            permitted: [.administrator: all, .owner: all, .moderator: low]),
        Operation(
            description: "set role to member", on: { .setRole(.member, of: $0) },
            permitted: [.administrator: all, .owner: all, .moderator: low]),
        Operation(description: "set role to moderator", on: { .setRole(.moderator, of: $0) }, permitted: owners),
        Operation(description: "set role to owner", on: { .setRole(.owner, of: $0) }, permitted: owners),
        Operation(description: "close", on: { _ in .setAccess(.closed) }, permitted: owners),
        Operation(description: "admit invited accounts", on: { _ in .setAccess(.inviteOnly) }, permitted: owners),
        Operation(description: "open", on: { _ in .setAccess(.open) }, permitted: owners),
        Operation(
            description: "announce", on: { _ in .announce(MessageContent(text: "hear")) },
            permitted: [.administrator: all]),
        Operation(
            description: "list roles", on: { _ in .listRoles(after: nil) },
            permitted: Dictionary(uniqueKeysWithValues: Rank.allCases.map { ($0, all) })),
    ]

    /// A configuration with roles.
    static func configuration(_ base: RelayConfiguration) -> RelayConfiguration {
        var configuration = base
        configuration.roomRoles = RoomRolesConfiguration()
        configuration.asksRoomPolicy = true
        return configuration
    }

    /// Administrators are accounts whose names begin with "root".
    static func decide(_ request: RoomAuthorizationRequest) -> RoomDecision {
        request.identity.account.text.hasPrefix("root") ? .granted(.all.union(.administer)) : .granted(.all)
    }

    /// The policy at a relay.
    struct Policy: ImmediateRoomPolicy {
        func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision { RoleMatrix.decide(request) }
    }

    /// The results of an operation by one actor.
    struct Results {
        /// The ranks of the targets on which it was performed.
        var performed: Set<Rank> = []
        /// The ranks of the targets on which it was forbidden and changed nothing.
        var forbidden: Set<Rank> = []
    }

    /// Performs an operation as an actor on a target of each rank, each in an open room of its own.
    static func run<P: Peer>(
        _ operation: Operation, by actor: Rank, connect: () async throws -> P
    ) async throws -> Results {
        let root = try await member("root", connect)
        let subject = try await member(actor == .administrator ? "root actor" : "actor", connect)
        var results = Results()
        for (number, rank) in Rank.allCases.enumerated() {
            let room = "room \(number)"
            let session = SessionID(rawValue: UInt16(2 * number + 1))
            let targetName = rank == .administrator ? "root target" : "target"
            let target = try await member(targetName, connect, device: UInt64(number + 1))
            for peer in [root, subject, target] {
                await peer.send(Open(room: RoomName(room)!, cursor: 0), on: session)
                let _: Opened = try await peer.next()
            }
            for (name, rank) in [("actor", actor), (targetName, rank)] where role(rank) != nil {
                let status = try await root.operate(.setRole(role(rank), of: AccountName(name)!), on: session)
                if status != .none { throw PeerError.nothing }
            }
            let before = try await root.response(to: .listRoles(after: nil), on: session).content
            let status = try await subject.operate(operation.on(AccountName(targetName)!), on: session)
            let after = try await root.response(to: .listRoles(after: nil), on: session).content
            switch status {
            case .none: results.performed.insert(rank)
            case .forbidden where before != nil && after == before: results.forbidden.insert(rank)
            default: break
            }
            await target.cut()
        }
        await root.cut()
        await subject.cut()
        return results
    }

    private static func role(_ rank: Rank) -> RoomRole? {
        switch rank {
        case .outsider, .administrator: nil
        case .reader: .reader
        case .member: .member
        case .moderator: .moderator
        case .owner: .owner
        }
    }

    private static func member<P: Peer>(
        _ account: String, _ connect: () async throws -> P, device: UInt64 = 1
    ) async throws -> P {
        let peer = try await connect()
        try await peer.hello(FrameWriter.hello(account, device: device))
        return peer
    }
}

extension Peer {
    /// Requests an operation and returns the status of the response. Frames before that are discarded.
    func operate(_ operation: RoomOperation, on session: SessionID = .first) async throws -> ErrorCode {
        try await response(to: operation, on: session).status
    }

    /// Requests an operation and returns the response. Frames before that are discarded.
    func response(to operation: RoomOperation, on session: SessionID = .first) async throws -> Response {
        await send(
            Request(
                correlation: 77, method: operation.method.name, deadline: .seconds(60), content: operation.content),
            on: session)
        return try await next()
    }
}
