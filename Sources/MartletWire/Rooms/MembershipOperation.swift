/// An operation on membership records: the method and the content of a request on an account's own session.
package enum MembershipOperation: Equatable, Sendable {
    /// Join a room.
    case join
    /// Leave a room that the account has joined.
    case leave
    /// Decline an invitation.
    case decline
    /// Invite another account.
    case invite(AccountName)
    /// Raise the account's read offset in a log; in the current one for nil.
    case read(upTo: UInt64, log: LogID?)

    /// The method of the request.
    package var method: MembershipMethod {
        switch self {
        case .join: .join
        case .leave: .leave
        case .decline: .decline
        case .invite: .invite
        case .read: .read
        }
    }

    /// Parses the content of a request.
    ///
    /// - Returns: The room and the operation.
    /// - Throws: `missingField`, `duplicateField` or `invalidValue` for a field; `malformedTLV`, `tlvTooDeep`,
    ///   `tooManyTLVs` or `unknownCriticalTag`.
    package static func parse(
        _ method: MembershipMethod, content: [UInt8]?
    ) throws(WireError) -> (room: RoomName, operation: MembershipOperation) {
        var room: RoomName?
        var account: AccountName?
        var upTo: UInt64?
        var log: LogID?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .room: try room.fill(.room, field.name())
            case .account: try account.fill(.account, field.name())
            case .upTo: try upTo.fill(.upTo, field.uint64())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            default: try field.skip()
            }
        }
        let operation: MembershipOperation =
            switch method {
            case .join: .join
            case .leave: .leave
            case .decline: .decline
            case .invite: .invite(try account.required(.account))
            case .read: .read(upTo: try upTo.required(.upTo), log: log)
            }
        return (try room.required(.room), operation)
    }

    /// The content of the request about a room.
    package func content(of room: RoomName) -> [UInt8] {
        var writer = TLVWriter()
        writer.append(.room, name: room)
        switch self {
        case .join, .leave, .decline: break
        case .invite(let account): writer.append(.account, name: account)
        case .read(let offset, let log):
            writer.append(.upTo, uint64: offset)
            if let log { writer.append(.log, uint64: log.rawValue) }
        }
        return writer.bytes
    }
}

/// The methods of requests on an account's own session that concern membership records.
package enum MembershipMethod: String, CaseIterable, Sendable {
    /// Join a room.
    case join = "rooms.join"
    /// Leave a room.
    case leave = "rooms.leave"
    /// Decline an invitation.
    case decline = "rooms.decline"
    /// Invite another account.
    case invite = "rooms.invite"
    /// Raise the account's read offset.
    case read = "rooms.read"

    /// The method of the request for a page of the account's rooms.
    package static let list = MethodName("rooms.list")!

    /// The name of the method.
    package var name: MethodName { MethodName(rawValue)! }

    /// The method with a name; nil for another name.
    package init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }
}
