import MartletWire

/// Accounts of a room whose presence is another than its members were told last, and when they are told (R-37,
/// Specs/hostile.md row 44).
///
/// An account is in it once, in the order in which accounts changed, and no longer when it is again what its members
/// know. So one that comes and goes costs the others nothing, however often it does.
///
/// | state | owns | ends |
/// |---|---|---|
/// | empty | nothing | an account changes |
/// | pending | changed accounts | a batch is due and takes them, or they change back |
struct PresenceChanges: Sendable {
    /// Accounts of one batch.
    static let maxBatchCount = 16
    /// Transient frames of one batch, as far as it has more than one account.
    static let maxBatchFrames = 2048
    /// Batches of a room that may follow each other at once, and those of a minute thereafter.
    static let batchBurst = 10
    static let batchesPerMinute = 600

    /// What is known of a changed account.
    struct Change: Sendable {
        var account: AccountName
        /// What the members were told.
        fileprivate var told: Transient.Presence
        /// The member whose coming or going it was, who is not told.
        var member: MemberKey
    }

    private var changes: [AccountName: Change] = [:]
    /// Their names in order; some have changed back since.
    private var order = Deque<AccountName>()
    private var batches = TokenBucket(
        burst: PresenceChanges.batchBurst, perMinute: PresenceChanges.batchesPerMinute)

    var isEmpty: Bool { changes.isEmpty }

    /// When the next batch may go out.
    var deadline: Instant? { isEmpty ? nil : batches.availableAt() }

    /// An account's presence has changed.
    mutating func note(
        _ account: AccountName, from before: Transient.Presence, to presence: Transient.Presence, of member: MemberKey
    ) {
        let told = changes[account]?.told ?? before
        guard told != presence else {
            changes[account] = nil
            return
        }
        if changes.updateValue(Change(account: account, told: told, member: member), forKey: account) == nil {
            order.append(account)
            compact()
        }
    }

    /// Takes those that are to be told of now to so many members; none when it is too early.
    mutating func takeBatch(memberCount: Int, now: Instant) -> [Change] {
        guard !isEmpty, batches.take(now: now) else { return [] }
        let count = min(PresenceChanges.maxBatchCount, max(PresenceChanges.maxBatchFrames / max(memberCount, 1), 1))
        var batch: [Change] = []
        while batch.count < count, let account = order.popFirst() {
            if let change = changes.removeValue(forKey: account) { batch.append(change) }
        }
        if changes.isEmpty { removeAll() }
        return batch
    }

    /// Nobody is told of what has changed.
    mutating func removeAll() {
        changes = [:]
        order.removeAll()
    }

    private mutating func compact() {
        guard order.count > RelayEngine.maxQueued(current: changes.count) else { return }
        var seen: Set<AccountName> = []
        order = Deque(order.filter { changes[$0] != nil && seen.insert($0).inserted })
    }
}
