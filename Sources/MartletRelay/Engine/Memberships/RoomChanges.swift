import MartletLink
import MartletWire

/// What has changed in a room since its last report to the accounts that watch it.
///
/// | state | owns | ends |
/// |---|---|---|
/// | reported | the last offset that was reported | a message is durable, an account has read |
/// | changed | accounts whose progress has changed | `take`, at most once in `interval` |
struct RoomChanges: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<RoomChanges>()
    /// The minimum duration between two reports of a room to accounts that watch it.
    static let interval: Duration = .milliseconds(100)

    /// The accounts that a report concerns.
    enum Answer: Equatable {
        case none
        case some([AccountName])
        case all
    }

    private(set) var reportedOffset: UInt64 = 0
    private var accounts: Set<AccountName> = []
    private var erasures: [MessageErasure] = []
    private var nextAt = Instant.zero
    /// The messages of other relays since the last report.
    private var replicatedCount: UInt64 = 0

    /// Begins with a log of which everything is reported.
    mutating func begin(at offset: UInt64) { reportedOffset = offset }

    /// The progress of an account has changed.
    mutating func note(_ account: AccountName) { accounts.insert(account) }

    /// The copy of the log has messages of other relays.
    mutating func noteReplicated(_ count: Int) { replicatedCount += UInt64(count) }

    /// Takes whether this relay has stored messages since the last report, which `take` ends.
    mutating func takeOwn(_ lastOffset: UInt64) -> Bool {
        defer { replicatedCount = 0 }
        return lastOffset > reportedOffset && lastOffset &- reportedOffset > replicatedCount
    }

    /// Messages are erased, which is reported in the same turn.
    mutating func note(_ erasures: [MessageErasure]) { self.erasures += erasures }

    /// Takes the erasures that were not reported.
    mutating func takeErasures() -> [MessageErasure] {
        guard !erasures.isEmpty else { return [] }
        defer { erasures = [] }
        return erasures
    }

    /// Whether there is something to report.
    func isChanged(_ lastOffset: UInt64) -> Bool { lastOffset != reportedOffset || !accounts.isEmpty }

    /// The instant at which the room is reported; nil if nothing has changed.
    func deadline(_ lastOffset: UInt64) -> Instant? { isChanged(lastOffset) ? nextAt : nil }

    /// Whether `take` has an answer.
    func isDue(_ lastOffset: UInt64, isLast: Bool, now: Instant) -> Bool {
        isChanged(lastOffset) && (isLast || nextAt <= now)
    }

    /// Takes what has changed, if the interval is over or the room leaves memory.
    mutating func take(_ lastOffset: UInt64, isLast: Bool, now: Instant) -> Answer {
        guard isDue(lastOffset, isLast: isLast, now: now) else { return .none }
        nextAt = now + Self.interval
        defer {
            reportedOffset = lastOffset
            accounts = []
        }
        return lastOffset != reportedOffset ? .all : .some(accounts.sorted())
    }

    /// Checks that everything is reported.
    func check(_ check: inout QuiescenceCheck, lastOffset: UInt64) {
        check.equal("changes that were not reported", isChanged(lastOffset), false)
    }
}
