import MartletLink
import MartletWire

/// What a room knows about its log in a store that several relays share, beyond its own copy of the log.
///
/// | state | owns | ends |
/// |---|---|---|
/// | current | nothing | `note`, with an end beyond the copy |
/// | behind | the highest known end | `take(upTo:)`; an append that the store refuses brings the messages, too |
/// | reading | the same, one read of the store | `readEnded` |
/// | loading | one load of the roles, while nothing is appended | `loadEnded` |
/// | awaited | sessions that have seen messages beyond the copy | `takeJoins`, when the copy has them |
struct RoomReplica: Sendable {
    /// The interval in which the rooms with members are compared with the store. A lost report of the store delays
    /// messages of other relays by at most this time.
    static let checkInterval: Duration = .seconds(1)

    private var end: UInt64 = 0
    private(set) var isReading = false
    private(set) var isLoading = false
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
    mutating func beginRead(after offset: UInt64) -> Bool {
        guard isBehind(offset), !isBusy else { return false }
        isReading = true
        return true
    }

    mutating func readEnded() { isReading = false }

    /// A read has found no messages up to the known end. The next check or report begins another read.
    mutating func forgetEnd() { end = 0 }

    /// Begins a load; false if one is in progress.
    mutating func beginLoad() -> Bool {
        defer { isLoading = true }
        return !isLoading
    }

    mutating func loadEnded() { isLoading = false }

    /// Checks that nothing is in progress.
    func check(_ check: inout QuiescenceCheck, lastOffset: UInt64) {
        check.equal("a read of messages of other relays", isReading, false)
        check.equal("a load of changed roles", isLoading, false)
        check.equal("messages of other relays that are not read", end > lastOffset, false)
        check.empty("sessions that await messages of other relays", count: joins.count)
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
