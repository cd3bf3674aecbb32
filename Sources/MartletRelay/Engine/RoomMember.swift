import MartletLink
package import MartletWire

/// A session of a link, as the key of a member.
package struct MemberKey: Hashable, Sendable {
    /// The link's loop, slot and generation.
    package var link: LinkKey
    /// The session on that link.
    package var session: SessionID

    /// A session of a link.
    package init(link: LinkKey, session: SessionID) {
        self.link = link
        self.session = session
    }
}

/// A session's membership in a room: its device, its cursor and its credit.
///
/// | state | owns | ends |
/// |---|---|---|
/// | live | credit; its cursor is the last offset | its credit is used, it is suspended or its link has a backlog |
/// | lagging | a cursor in the log, which it reads as its credit returns (R-31) | it has read the last offset |
/// | left | acceptances of its last messages | they were sent |
struct RoomMember: Sendable {
    /// The maximum number of bytes of messages from a room that one member has not consumed, before compression, which
    /// bounds a slow consumer (Specs/hostile.md row 20).
    static let creditByteCount = 256 * 1024  // bound
    /// The same for a session with this window, whose last quarter is for requests and responses.
    static func creditByteCount(ofWindow byteCount: Int) -> Int { min(creditByteCount, byteCount / 4 * 3) }

    var key: MemberKey
    /// MQTT 5 §3.8.3.1's No Local: messages of this device are not sent back to it.
    var noLocal: Bool
    private var flags: Flags = []
    /// What the room policy permits.
    var permissions = RoomPermissions.all
    /// The number of the join, ascending in the room.
    var joinNumber: UInt32 = 0
    var who: DeviceKey
    /// The highest offset that was delivered or skipped.
    var cursor: UInt64
    var credit: Int
    let creditLimit: Int
    var features = Features.supported
    /// Runs accepted since the last flush.
    var accepted: [AcceptedRun] = []
    /// The index of the device's deduplication window; nil before the first message.
    @CompactOptional var window: Int? = nil

    private struct Flags: OptionSet, Sendable {
        let rawValue: UInt8

        static let suspended = Flags(rawValue: 1)
        static let backlogged = Flags(rawValue: 2)
        static let reading = Flags(rawValue: 4)
        static let unfinished = Flags(rawValue: 8)
        static let away = Flags(rawValue: 16)
        static let left = Flags(rawValue: 32)
        static let setBack = Flags(rawValue: 64)
        static let waitsForCredit = Flags(rawValue: 128)
        /// The reasons not to deliver messages.
        static let paused: Flags = [.suspended, .backlogged, .reading, .unfinished]
    }

    init(
        key: MemberKey, who: DeviceKey, cursor: UInt64, noLocal: Bool, creditLimit: Int = RoomMember.creditByteCount
    ) {
        credit = creditLimit
        self.creditLimit = creditLimit
        self.key = key
        self.who = who
        self.cursor = cursor
        self.noLocal = noLocal
    }

    /// Whether the session has suspended the delivery of messages.
    var isSuspended: Bool {
        get { flags.contains(.suspended) }
        set { set(.suspended, newValue) }
    }
    /// Whether the session has published a message with a counter that its device used before for another message
    ///
    var isSetBack: Bool {
        get { flags.contains(.setBack) }
        set { set(.setBack, newValue) }
    }
    /// Whether its link has no connection.
    var isAway: Bool {
        get { flags.contains(.away) }
        set { set(.away, newValue) }
    }
    /// Whether it has closed its session and waits for its acceptances.
    var hasLeft: Bool {
        get { flags.contains(.left) }
        set { set(.left, newValue) }
    }
    /// Whether the store reads messages for the member.
    var isReading: Bool {
        get { flags.contains(.reading) }
        set { set(.reading, newValue) }
    }
    /// Whether its link has a long queue.
    var isBacklogged: Bool {
        get { flags.contains(.backlogged) }
        set { set(.backlogged, newValue) }
    }
    /// Whether the member has more messages than one step delivers.
    var isUnfinished: Bool {
        get { flags.contains(.unfinished) }
        set { set(.unfinished, newValue) }
    }

    @inline(__always)
    private mutating func set(_ flag: Flags, _ isSet: Bool) {
        if isSet { flags.insert(flag) } else { flags.remove(flag) }
    }

    /// Whether a message that was published while the room is in memory is the member's own and is not sent back.
    @inline(__always)
    private func excludes(recent entry: LogEntry) -> Bool {
        guard noLocal else { return false }
        if let window, entry.window >= 0 { return Int32(window) == entry.window }
        return excludes(entry)
    }

    /// Whether a message is the member's own and is not sent back.
    func excludes(_ entry: LogEntry) -> Bool {
        noLocal && entry.device == who.device && entry.sender == who.account
    }

    /// The next offset, if the member may receive more now and there is more up to `durable`.
    @inline(__always)
    func wanted(upTo durable: UInt64) -> UInt64? {
        guard cursor < durable, flags.isDisjoint(with: .paused), credit > 0 else { return nil }
        return cursor + 1
    }

    /// Whether the member begins to wait for credit, because there is more up to `durable`.
    mutating func beginsToWait(upTo durable: UInt64) -> Bool {
        guard credit <= 0, cursor < durable, !flags.contains(.waitsForCredit) else { return false }
        flags.insert(.waitsForCredit)
        return true
    }

    /// Adds returned credit. Returns whether the member waited for it.
    mutating func addCredit(_ byteCount: Int) -> Bool {
        credit = min(credit + byteCount, creditLimit)
        return flags.remove(.waitsForCredit) != nil
    }

    /// Takes the first of these messages in memory, within its credit and `room` bytes, without its own ones if they
    /// are not sent back.
    @inline(__always)
    mutating func take(_ entries: ArraySlice<LogEntry>, _ room: inout Int) -> Range<Int> {
        var start = entries.startIndex
        while start < entries.endIndex, excludes(recent: entries[start]) { start += 1 }
        var end = start
        while end < entries.endIndex, credit > 0, room > 0, !excludes(recent: entries[end]) {
            credit -= entries[end].body.plainByteCount
            room -= entries[end].body.byteCount
            end += 1
        }
        if end > entries.startIndex { cursor = entries[end - 1].offset }
        return start..<end
    }

    /// Takes messages at consecutive offsets that were read from the store: either only its own ones that are not sent
    /// back, or none of these.
    mutating func takeRow(of entries: [LogEntry], from start: Int) -> (end: Int, isExcluded: Bool) {
        let isExcluded = excludes(entries[start])
        var end = start
        repeat {
            if !isExcluded { credit -= entries[end].body.plainByteCount }
            cursor = entries[end].offset
            end += 1
        } while end < entries.endIndex && entries[end].offset == cursor + 1 && excludes(entries[end]) == isExcluded
        return (end, isExcluded)
    }

    mutating func noteAccepted(_ run: AcceptedRun) {
        if let longer = accepted.last?.extended(by: run) {
            accepted[accepted.count - 1] = longer
        } else {
            accepted.append(run)
        }
    }

    /// Checks that the member is connected and has received everything.
    func quiescence(lastOffset: UInt64) -> QuiescenceCheck {
        var check = QuiescenceCheck("member \(who.device)")
        // The peer need not announce the last sixteenth of its window (S-39).
        check.equal("credit for messages", credit > 0, true)
        check.equal("cursor", cursor, lastOffset)
        check.equal("flags", isSuspended || isAway || isReading || isBacklogged || isUnfinished, false)
        check.empty("runs of acceptances", count: accepted.count)
        return check
    }
}

/// The request of a session to open a room.
package struct JoinRequest: Equatable, Sendable {
    /// The session that joins.
    package var member: MemberKey
    /// The device of the session.
    package var who: DeviceKey
    /// The `open` of the session.
    package var open: Open
    /// The features of its link: receipts, presence and requests are sent if they are negotiated.
    package var features: Features
    /// Whether messages wait because of the backlog of the link, until `RoomCall.setBacklogged`.
    package var isBacklogged: Bool
    /// What the room policy permits.
    package var permissions: RoomPermissions
    /// The number of bytes of messages that the session may receive before it returns their credit.
    package var creditByteCount: Int

    /// Creates a request.
    package init(
        member: MemberKey, who: DeviceKey, open: Open, features: Features = .supported, isBacklogged: Bool = false,
        permissions: RoomPermissions = .all, creditByteCount: Int? = nil
    ) {
        self.member = member
        self.who = who
        self.open = open
        self.features = features
        self.isBacklogged = isBacklogged
        self.permissions = permissions
        self.creditByteCount = creditByteCount ?? RoomMember.creditByteCount
    }
}
