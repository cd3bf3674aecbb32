import MartletLink
import MartletWire

/// Accounts of a room whose presence differs from the last report, and the time of the next report (R-37,
/// Specs/hostile.md row 44).
///
/// An account has one entry, in the order of the changes, and none when its presence is again the reported one. An
/// account that connects and disconnects repeatedly therefore costs the other members nothing.
///
/// | state | owns | ends |
/// |---|---|---|
/// | empty | nothing | an account changes |
/// | pending | changed accounts | a batch is due and takes them, or they change back |
/// | within a batch | changed accounts, the rest of the batch | the batch is complete, as the loop's budget permits |
struct PresenceChanges: Sendable {
    /// The maximum number of accounts of a batch.
    static let maxBatchCount = 16
    /// The number of batches of a room that are sent at once.
    static let batchBurst = 10
    /// The number of batches of a room that are sent in a minute, beyond the burst.
    static let batchesPerMinute = 600

    /// A changed account.
    struct Change: Sendable {
        var account: AccountName
        /// The presence that was reported.
        fileprivate var reported: Transient.Presence
        /// The member that changed the presence, which receives no report.
        var member: MemberKey
    }

    private var changes: [AccountName: Change] = [:]
    /// The names in order, with those of accounts that have changed back.
    private var order = Deque<AccountName>()
    private var batches = TokenBucket(
        burst: PresenceChanges.batchBurst, perMinute: PresenceChanges.batchesPerMinute)
    /// Accounts that the current batch may still take.
    private var batchRest = 0
    /// The instant at which the loop's budget permits further frames.
    private var budgetedAt = Instant.zero

    var isEmpty: Bool { changes.isEmpty }

    /// The instant at which the next accounts may be reported.
    var deadline: Instant? { isEmpty ? nil : max(batchRest > 0 ? .zero : batches.availableAt(), budgetedAt) }

    /// An account's presence has changed.
    mutating func note(
        _ account: AccountName, from before: Transient.Presence, to presence: Transient.Presence, of member: MemberKey
    ) {
        let reported = changes[account]?.reported ?? before
        guard reported != presence else {
            changes[account] = nil
            return
        }
        if changes.updateValue(Change(account: account, reported: reported, member: member), forKey: account) == nil {
            order.append(account)
            removeOutdated()
        }
    }

    /// Takes the changes that are reported to this many members now; none before the deadline, or if the loop has sent
    /// as many frames as it may in a turn.
    mutating func takeBatch(memberCount: Int, now: Instant, budget: inout PresenceBudget) -> [Change] {
        guard !isEmpty, batchRest > 0 || batches.availableAt() <= now else { return [] }
        let most = batchRest > 0 ? batchRest : PresenceChanges.maxBatchCount
        let count = budget.take(min(most, changes.count), costing: memberCount, now: now)
        budgetedAt = count > 0 ? .zero : budget.availableAt(memberCount)
        guard count > 0 else { return [] }
        if batchRest == 0 { _ = batches.take(now: now) }
        batchRest = most - count
        var batch: [Change] = []
        while batch.count < count, let account = order.popFirst() {
            if let change = changes.removeValue(forKey: account) { batch.append(change) }
        }
        if changes.isEmpty { removeAll() }
        return batch
    }

    /// Discards all changes.
    mutating func removeAll() {
        changes = [:]
        order.removeAll()
        batchRest = 0
    }

    private mutating func removeOutdated() {
        guard order.count > Deque<Void>.maxCount(valid: changes.count) else { return }
        var seen: Set<AccountName> = []
        order = Deque(order.filter { changes[$0] != nil && seen.insert($0).inserted })
    }
}
