import MartletWire

@testable import MartletLink
@testable import MartletRelay

/// Roles and pages of rooms, and requests about attachments: nothing traps, decoded roles and requests encode to the
/// same bytes, operations keep the bounds and an owner, and pages and answers are as requested.
///
/// Input: a byte for a method or for stored roles, then the content of a request or the roles. The operation of a
/// request is applied to the roles of a small room, by each rank.
enum RolesTarget {
    private static let names = ["alice", "bob", "carol"].compactMap { AccountName($0) }

    static func run(_ input: RawSpan) {
        guard input.byteCount > 0 else { return }
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        let methods = RoomMethod.allCases
        let choice = Int(input.loadUInt8(at: 0))
        if choice < methods.count { operate(methods[choice], bytes) } else { decode(bytes) }
    }

    private static func decode(_ bytes: [UInt8]) {
        if let roles = try? RoomRoles(decoding: bytes) {
            // Unknown fields are not kept.
            let encoded = roles.encoded()
            let again = try? RoomRoles(decoding: encoded)
            hold(again?.encoded() == encoded, "roles encode to other bytes")
            hold(encoded.count <= max(bytes.count, RoomRoles.maxByteCount), "the encoded roles are longer")
        }
        if let query = try? HistoryQuery(parsing: bytes) {
            hold((try? HistoryQuery(parsing: query.content)) == query, "a query encodes to another")
        }
        let query = HistoryQuery(.after(0), limit: 3)
        if let page = try? HistoryPage(parsing: bytes, answering: query), let offsets = page.offsets {
            hold(offsets.upperBound <= page.head && page.messages.count <= 3, "a page has too many messages")
        }
        for method in AttachmentMethod.allCases {
            guard let request = try? AttachmentRequest(method, content: bytes) else { continue }
            let again = try? AttachmentRequest(method, content: request.content)
            hold(again == request && request.method == method, "a request about an attachment encodes to another")
            if case .write(_, _, let data) = request {
                hold((1...AttachmentRequest.maxChunkByteCount).contains(data.count), "a write has too many bytes")
            }
            if let answer = try? AttachmentResponse(parsing: bytes, answering: request),
                case .position(let position, let byteCount) = answer
            {
                hold(position <= byteCount, "a position is above the length")
            }
        }
        if let roster = try? RoomRoster(parsing: bytes) {
            hold((try? RoomRoster(parsing: roster.encode())) == roster, "a roster encodes to another")
        }
    }

    private static func operate(_ method: RoomMethod, _ content: [UInt8]) {
        guard let operation = try? RoomOperation(method, content: content) else { return }
        hold(operation.method == method, "an operation has another method")
        hold((try? RoomOperation(method, content: operation.content)) == operation, "an operation encodes to another")
        for rank in RoomRank.allCases {
            var roles = RoomRoles(owner: names[0])
            for account in names { roles = next(roles, .mute(account, seconds: 1), rank) }
            roles = next(roles, operation, rank)
            let hasOwner = roles.standings(after: nil, maxCount: 10).contains { $0.role == .owner }
            hold(hasOwner || rank == .administrator, "a room has lost its owner")
            hold((try? RoomRoles(decoding: roles.encoded()))?.encoded() == roles.encoded(), "roles encode to others")
        }
    }

    private static func next(_ roles: RoomRoles, _ operation: RoomOperation, _ rank: RoomRank) -> RoomRoles {
        guard rank.permits(operation, on: RoomRank(operation.target.flatMap { roles[$0]?.role })) else { return roles }
        return (try? roles.applying(operation, by: rank, at: 1000)) ?? roles
    }
}
