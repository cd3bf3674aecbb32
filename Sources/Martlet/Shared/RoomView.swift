import MartletLink
import MartletWire

/// The state of a room as the relay has reported it. The marks of accounts are in ``OutgoingMessages``. A change
/// returns whether it had an effect.
struct RoomView: Sendable, Equatable {
    /// The maximum number of members that are stored.
    static let maxMembers = 4096

    private(set) var presences: [AccountName: Room.Presence] = [:]
    private(set) var typing: Set<AccountName> = []
    private(set) var firstOffset: UInt64 = 0
    private(set) var lastOffset: UInt64 = 0
    /// The offset up to which this account has read the messages.
    private(set) var readOffset: UInt64 = 0
    private(set) var log: LogID?

    /// - Parameter log: The log of the first session's cursor.
    init(log: LogID? = nil) {
        self.log = log
    }

    /// - Parameter branch: The offset up to which the log has the messages of the previous one, if that is a different
    ///   one.
    mutating func opened(
        firstOffset: UInt64, lastOffset: UInt64, members: [AccountName], log: LogID?, branch: UInt64? = nil
    ) -> Bool {
        readOffset = min(readOffset, branch ?? lastOffset)
        self.firstOffset = firstOffset
        self.lastOffset = lastOffset
        presences = Dictionary(members.map { ($0, .online) }, uniquingKeysWith: { first, _ in first })
        typing.formIntersection(members)
        self.log = log
        return true
    }

    /// The log contains a message at the offset.
    mutating func extend(to offset: UInt64) -> Bool {
        guard offset > lastOffset else { return false }
        lastOffset = offset
        return true
    }

    mutating func note(_ account: AccountName, _ presence: Room.Presence) -> Bool {
        guard presences[account] != (presence == .left ? nil : presence) else { return false }
        guard presence != .left else {
            presences[account] = nil
            typing.remove(account)
            return true
        }
        guard presences[account] != nil || presences.count < Self.maxMembers else { return false }
        presences[account] = presence
        return true
    }

    /// Records whether a member is typing. An account that is not a known member has no effect.
    mutating func note(_ account: AccountName, isTyping: Bool) -> Bool {
        guard isTyping else { return typing.remove(account) != nil }
        return presences[account] != nil && typing.insert(account).inserted
    }

    /// Records that this account has read the messages up to a cursor. A cursor of another log has no effect.
    mutating func read(upTo cursor: RoomCursor) -> Bool {
        // Without a log the room was not opened, or the relay identifies no logs.
        let offset = log == nil ? min(cursor.offset, lastOffset) : cursor.offset
        guard cursor.log == nil || cursor.log == log, offset > readOffset else { return false }
        readOffset = offset
        return true
    }
}
