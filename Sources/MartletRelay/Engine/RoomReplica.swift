import MartletLink
import MartletWire

/// What a room knows about its log in a store that several relays share, beyond its own copy of the log.
///
/// | state | owns | ends |
/// |---|---|---|
/// | current | nothing | `note`, with an end beyond the copy |
/// | behind | the highest known end | `take(upTo:)`; an append that the store refuses brings the messages, too |
/// | reading | the same, one read of the store | `readEnded` |
/// | loading | one load of the roles, while nothing is appended, and whether they must be later than those in memory | `loadEnded` |
/// | awaited | sessions that have seen messages beyond the copy | `takeJoins`, when the copy has them |
/// | delayed | the same as behind, the instant of the read | `beginRead`; `endDelay`, when the bus has brought messages |
///
/// Messages of the bus wait in each state for earlier ones, while the store has an append, and while roles are loaded
///
struct RoomReplica: Sendable {
    /// The interval in which the rooms with members are compared with the store. A lost report of the store delays
    /// messages of other relays by at most this time.
    static let checkInterval: Duration = .seconds(1)
    /// The time for which messages are awaited from the bus before they are read, if other relays have members.
    static let busDelay: Duration = .milliseconds(20)
    /// The maximum number of bytes of messages of the bus that wait, with objects. Beyond it the oldest are dropped.
    static let maxEarlyByteCount = 64 * 1024
    /// The number of bytes that each message counts besides its body.
    private static let overhead = 128

    private var end: UInt64 = 0
    /// The instant of a read that is delayed.
    private var readAt: Instant?
    /// Batches of the bus that wait.
    private var early: [[LogEntry]] = []
    private(set) var earlyByteCount = 0
    private(set) var isReading = false
    /// Whether the read began before the store had the roles that are held.
    private var isReadEarlier = false
    private(set) var isLoading = false
    /// Whether the store has refused the version of the roles in memory, so that a load must bring a later one.
    private(set) var needsLaterRoles = false
    /// Sessions whose cursors are beyond the copy.
    private(set) var joins: [JoinRequest] = []

    /// Whether a read or a load of the store is in progress.
    var isBusy: Bool { isReading || isLoading }

    /// The store has messages up to an offset.
    mutating func note(end: UInt64) { self.end = max(self.end, end) }

    /// A session joins when the copy has the messages that it has seen; false if too many wait.
    mutating func append(_ join: JoinRequest) -> Bool {
        guard joins.count < RoomMembers.maxCount else { return false }
        joins.append(join)
        return true
    }

    /// Removes a waiting session.
    mutating func withdraw(_ key: MemberKey) { joins.removeAll { $0.member == key } }

    /// Takes the sessions that have seen messages up to an offset at most.
    mutating func takeJoins(upTo offset: UInt64) -> [JoinRequest] {
        guard !joins.isEmpty else { return [] }
        let taken = joins.filter { $0.open.cursor <= offset }
        joins.removeAll { $0.open.cursor <= offset }
        return taken
    }

    /// Whether the store has messages after an offset, or sessions await them.
    @inline(__always)
    func isBehind(_ offset: UInt64) -> Bool { end > offset || !joins.isEmpty }

    /// Begins a read, if the store has messages after an offset, or sessions await them, and none is in progress.
    ///
    /// - Parameter isDelayed: Whether the bus may bring the messages.
    mutating func beginRead(after offset: UInt64, isDelayed: Bool, now: Instant) -> Bool {
        guard isBehind(offset), !isBusy else { return false }
        if isDelayed, joins.isEmpty {
            let at = readAt ?? now + Self.busDelay
            readAt = at
            guard at <= now else { return false }
        }
        readAt = nil
        isReading = true
        isReadEarlier = false
        return true
    }

    /// A read has ended. Returns whether it began after the store had the roles that are held.
    mutating func readEnded() -> Bool {
        isReading = false
        return !isReadEarlier
    }

    /// A read has brought messages. One of further messages is not delayed.
    mutating func continueRead() { readAt = .zero }

    /// The instant of a read that is delayed; nil while another is in progress.
    var deadline: Instant? { isBusy ? nil : readAt }

    /// The copy has more messages, or all. A later read is delayed again.
    mutating func endDelay() { readAt = nil }

    // MARK: Messages of the bus

    /// Whether messages of the bus wait.
    var hasEarly: Bool { !early.isEmpty }

    /// Roles take effect when the copy has the messages up to an offset.
    mutating func noteHold(upTo offset: UInt64) {
        isReadEarlier = isReading
        noteUnsent(upTo: offset)
    }

    /// Another relay has stored messages up to an offset, which the bus does not bring: a read is not delayed.
    mutating func noteUnsent(upTo offset: UInt64) {
        note(end: offset)
        readAt = .zero
    }

    /// A batch of the bus waits.
    mutating func keep(_ entries: [LogEntry]) {
        early.append(entries)
        earlyByteCount += Self.byteCount(of: entries)
        while earlyByteCount > Self.maxEarlyByteCount { earlyByteCount -= Self.byteCount(of: early.removeFirst()) }
    }

    /// Takes a batch with the message after an offset; nil if none has it. Batches up to the offset are dropped.
    mutating func takeEarly(after offset: UInt64) -> ArraySlice<LogEntry>? {
        early.removeAll { $0.last.map { $0.offset <= offset } ?? true }
        let index = early.firstIndex { $0[0].offset <= offset &+ 1 }
        let taken = index.map { early.remove(at: $0) }
        earlyByteCount = early.reduce(0) { $0 + Self.byteCount(of: $1) }
        return taken?.drop { $0.offset <= offset }
    }

    static func byteCount(of entries: some Collection<LogEntry>) -> Int {
        entries.reduce(0) { $0 + $1.body.byteCount + overhead }
    }

    /// A read has found no messages up to the known end. The next check or report begins another read.
    mutating func forgetEnd() { end = 0 }

    /// Begins a load; false if one is in progress.
    ///
    /// - Parameter needsLater: Whether the store has refused the version of the roles in memory.
    mutating func beginLoad(needsLater: Bool) -> Bool {
        needsLaterRoles = needsLaterRoles || needsLater
        defer { isLoading = true }
        return !isLoading
    }

    mutating func loadEnded() { (isLoading, needsLaterRoles) = (false, false) }

    /// Checks that nothing is in progress.
    func check(_ check: inout QuiescenceCheck, lastOffset: UInt64) {
        check.equal("a read of messages of other relays", isReading, false)
        check.equal("a load of changed roles", isLoading, false)
        check.equal("messages of other relays that are not read", end > lastOffset, false)
        check.empty("sessions that await messages of other relays", count: joins.count)
        check.empty("messages of the bus that wait", count: early.count)
    }
}

/// The comparison of the rooms of a loop with the store, a part of them at a time.
///
/// | state | owns | ends |
/// |---|---|---|
/// | waiting | the instant of the next check, the first slot of its rooms | `begin` |
/// | checking | the same, one call of the store | `ended` |
struct ReplicaChecks: Sendable {
    private var nextAt = Instant.zero
    private var place = 0
    private var isChecking = false

    /// The instant at which `begin` is due; nil while the store has a call.
    var deadline: Instant? { isChecking ? nil : nextAt }

    /// The slot at which a check that is due begins.
    func begin(now: Instant) -> Int? { !isChecking && nextAt <= now ? place : nil }

    /// A check has begun, with a call of the store unless no room is concerned. The next one follows at once if it
    /// begins at a slot.
    mutating func began(next: Int?, isCalling: Bool, now: Instant) {
        isChecking = isCalling
        place = next ?? 0
        nextAt = next == nil ? now + RoomReplica.checkInterval : now
    }

    /// The store has answered.
    mutating func ended() { isChecking = false }
}
