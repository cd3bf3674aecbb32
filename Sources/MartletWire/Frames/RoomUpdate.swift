/// The frame that reports the current entry of a room in the list of an account's rooms, or that the list is to be
/// requested again (W-102).
package struct RoomUpdate: FrameBody {
    /// The type `update`, 0x5007.
    package static let type = FrameType.update

    /// The entry; nil if the client requests the list again.
    package var entry: RoomEntry?

    /// Creates the frame.
    package init(_ entry: RoomEntry?) {
        self.entry = entry
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var fields = Fields()
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() { try fields.take(field) }
        entry = try fields.entry()
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        guard let entry else { return }
        writer.append(.room, name: entry.room)
        writer.append(.membership, uint8: entry.membership.rawValue)
        if let inviter = entry.inviter { writer.append(.inviter, name: inviter) }
        if let changedAt = entry.changedAt { writer.append(.changedAt, uint64: changedAt) }
        if let log = entry.log { writer.append(.log, uint64: log.rawValue) }
        writer.append(.head, uint64: entry.lastOffset)
        writer.append(.first, uint64: entry.firstOffset)
        if let message = entry.message { writer.append(.message, bytes: message) }
        if entry.isShortened { writer.append(.shortened, uint8: 1) }
        if entry.delivered > 0 { writer.append(.deliveredUpTo, uint64: entry.delivered) }
        if entry.read > 0 { writer.append(.readUpTo, uint64: entry.read) }
        if entry.unreadCount > 0 { writer.append(.unread, uint32: entry.unreadCount) }
    }

    /// The fields of an entry, each optional.
    private struct Fields {
        private var room: RoomName?
        private var membership: RoomMembershipState?
        private var inviter: AccountName?
        private var changedAt: UInt64?
        private var log: LogID?
        private var head: UInt64?
        private var first: UInt64?
        private var message: [UInt8]?
        private var isShortened: Bool?
        private var delivered: UInt64?
        private var read: UInt64?
        private var unread: UInt32?

        mutating func take(_ field: TLVView) throws(WireError) {
            switch field.tag {
            case .room: try room.fill(.room, field.name())
            case .membership: try membership.fill(.membership, field.choice())
            case .inviter: try inviter.fill(.inviter, field.name())
            case .changedAt: try changedAt.fill(.changedAt, field.uint64())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .head: try head.fill(.head, field.uint64())
            case .first: try first.fill(.first, field.uint64())
            case .message: try message.fill(.message, field.bytes())
            case .shortened: try isShortened.fill(.shortened, field.bool())
            case .deliveredUpTo: try delivered.fill(.deliveredUpTo, field.uint64())
            case .readUpTo: try read.fill(.readUpTo, field.uint64())
            case .unread: try unread.fill(.unread, field.uint32())
            default: try field.skip()
            }
        }

        /// Whether a field other than the room occurred.
        private var hasOthers: Bool {
            membership != nil || inviter != nil || changedAt != nil || log != nil || head != nil || first != nil
                || message != nil || isShortened != nil || delivered != nil || read != nil || unread != nil
        }

        func entry() throws(WireError) -> RoomEntry? {
            guard let room else {
                guard !hasOthers else { throw .missingField(.room) }
                return nil
            }
            return RoomEntry(
                room: room, membership: try membership.required(.membership), inviter: inviter, changedAt: changedAt,
                log: log, lastOffset: try head.required(.head), firstOffset: try first.required(.first),
                message: message, isShortened: isShortened ?? false, delivered: delivered ?? 0, read: read ?? 0,
                unreadCount: unread ?? 0)
        }
    }
}
