public import MartletWire

/// A link's session as rooms know it.
public struct MemberKey: Hashable, Sendable {
    /// The link's slot at its loop, and which user of the slot it is.
    public var link: LinkKey
    /// The session on that link.
    public var session: SessionID

    /// A session of a link.
    public init(link: LinkKey, session: SessionID) {
        self.link = link
        self.session = session
    }
}

/// A slot in the relay's table of links; a slot that is used again gets a new generation, so old keys find nothing.
public struct LinkKey: Hashable, Sendable {
    var slot: Int32
    var generation: UInt32
    /// The loop that has the table.
    var loop: UInt8 = 0
}

/// One session's place in a room: who it is, how far it has read, and how much more it may be sent.
///
/// A member is *live* when it has everything up to the durable head and has credit; then a new message is sent on the
/// spot. Otherwise it is *lagging*: it reads from the log at its own pace, from memory or from the store, as its credit
/// comes back.
struct RoomMember: Sendable {
    /// Body bytes that a room may have on their way to one member; what bounds a slow consumer (Specs/hostile.md row
    /// 20).
    static let creditByteCount = 256 * 1024

    var key: MemberKey
    /// MQTT 5 §3.8.3.1's No Local: messages of this device are not sent back to it.
    var noLocal: Bool
    var isSuspended = false
    var isAway = false
    /// Whether it has closed its session and waits for no more than its acceptances.
    var hasLeft = false
    var isReading = false
    /// Whether its link has enough on its way already.
    var isHeldBack = false
    /// Whether there was more for it than is handed over in one go.
    var isUnfinished = false
    /// Rises from member to member of the room.
    var joinNumber: UInt32 = 0
    /// Requests that it has been asked to answer.
    var answeringCount: Int32 = 0
    var who: DeviceKey
    /// The highest offset handed to the member's session, or skipped.
    var cursor: UInt64
    var credit = RoomMember.creditByteCount
    var features = Features.supported
    /// Runs accepted since the last flush.
    var accepted: [AcceptedRun] = []
    /// Its device's place in the room's marks, once it has posted.
    @Compact var mark: Int? = nil
    /// Open requests of its own, by the room's numbers.
    var asked: [UInt64] = []

    init(key: MemberKey, who: DeviceKey, cursor: UInt64, noLocal: Bool) {
        self.key = key
        self.who = who
        self.cursor = cursor
        self.noLocal = noLocal
    }

    /// Whether a message that was posted since the room is in memory is the member's own, and it does not want these
    /// back.
    @inline(__always)
    private func isSparedOf(recent entry: LogEntry) -> Bool {
        guard noLocal else { return false }
        if let mark, entry.mark >= 0 { return Int32(mark) == entry.mark }
        return isSparedOf(entry)
    }

    /// Whether a message is the member's own and it does not want these back.
    func isSparedOf(_ entry: LogEntry) -> Bool {
        noLocal && entry.device == who.device && entry.sender == who.account
    }

    /// The offset that comes next, if it may be handed more now and there is more up to `durable`.
    @inline(__always)
    func wanted(upTo durable: UInt64) -> UInt64? {
        guard cursor < durable, !isSuspended, !isHeldBack, !isReading, !isUnfinished, credit > 0 else { return nil }
        return cursor + 1
    }

    /// Takes the first of these messages, which the room has in memory, up to its credit and to `room` bytes: those
    /// that it is not spared of.
    @inline(__always)
    mutating func take(_ entries: ArraySlice<LogEntry>, _ room: inout Int) -> Range<Int> {
        var start = entries.startIndex
        while start < entries.endIndex, isSparedOf(recent: entries[start]) { start += 1 }
        var end = start
        while end < entries.endIndex, credit > 0, room > 0, !isSparedOf(recent: entries[end]) {
            credit -= entries[end].body.byteCount
            room -= entries[end].body.byteCount
            end += 1
        }
        if end > entries.startIndex { cursor = entries[end - 1].offset }
        return start..<end
    }

    /// Takes messages at neighbouring offsets that were read from the store: all that it is spared of, or that it is
    /// not.
    mutating func takeRow(of entries: [LogEntry], from start: Int) -> (end: Int, isSpared: Bool) {
        let isSpared = isSparedOf(entries[start])
        var end = start
        repeat {
            if !isSpared { credit -= entries[end].body.byteCount }
            cursor = entries[end].offset
            end += 1
        } while end < entries.endIndex && entries[end].offset == cursor + 1 && isSparedOf(entries[end]) == isSpared
        return (end, isSpared)
    }

    mutating func noteAccepted(_ run: AcceptedRun) {
        if let longer = accepted.last?.extended(by: run) {
            accepted[accepted.count - 1] = longer
        } else {
            accepted.append(run)
        }
    }
}

/// What a session wants when it opens a room.
public struct JoinRequest: Equatable, Sendable {
    /// The session that joins.
    public var member: MemberKey
    /// Who it belongs to.
    public var who: DeviceKey
    /// What it said in `open`.
    public var open: Open
    /// What its link has agreed on: receipts, presence and requests go to those who know them.
    public var features: Features
    /// Whether messages are held back until `Rooms.setHeldBack` says otherwise.
    public var isHeldBack: Bool

    /// A session's wish to join.
    public init(
        member: MemberKey, who: DeviceKey, open: Open, features: Features = .supported, isHeldBack: Bool = false
    ) {
        self.member = member
        self.who = who
        self.open = open
        self.features = features
        self.isHeldBack = isHeldBack
    }
}
