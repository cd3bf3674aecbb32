import MartletLink
import MartletWire

/// The delivered and the read offset of an account in a room.
public struct AccountProgress: Equatable, Sendable {
    /// The highest offset delivered to any of the account's devices; 0 when there is none.
    public var delivered: UInt64
    /// The highest offset read on any of them; 0 when there is none.
    public var read: UInt64

    /// Creates a progress.
    public init(delivered: UInt64 = 0, read: UInt64 = 0) {
        self.delivered = delivered
        self.read = read
    }

    /// The progress in a log, which is at least that of another source. An offset beyond the log's last one concerns
    /// an earlier log.
    public func raised(to least: AccountProgress, lastOffset: UInt64) -> AccountProgress {
        AccountProgress(
            delivered: max(delivered, min(least.delivered, lastOffset)), read: max(read, min(least.read, lastOffset)))
    }
}

/// The progress of each account in a room, and the receipts, cancels and presence that wait for members' links (R-34,
///
///
/// | state | owns | ends |
/// |---|---|---|
/// | progress of an account | a delivered and a read offset | the room is evicted; the store has it |
/// | unsaved progress | a name in a set | `takeUnsaved`: an append, `maxSaveDelay`, the room is evicted |
/// | pending changes of a member | a `PendingChanges` | `takePending`, when the link has room or the member leaves |
struct RoomReceipts: ~Copyable, Sendable {
    /// The maximum number of accounts with progress in a room.
    static let maxAccounts = 4096

    /// The maximum duration until the store has the progress of an account.
    static let maxSaveDelay = Duration.seconds(5)

    // Not private: Swift 6.3 emits no external conformance of a private type when it optimizes single files.
    struct Pending: ~Copyable, Neutral, Sendable {
        static let neutral = NeutralValue<Pending>()

        /// The pending changes by the slots of members.
        var changes: [Int: PendingChanges] = [:]
        var accountCount = 0
    }

    private var progress: [AccountName: AccountProgress] = [:]
    /// The accounts whose progress the store does not have.
    private var unsaved: Set<AccountName> = []
    /// The accounts with the highest offsets, the highest first; nil since an offset has risen. Each session that joins
    /// asks for them, and they are thousands (Specs/hostile.md row 44).
    private var furthestAccounts: [AccountName]?
    /// Allocated while any member has pending changes.
    private var pending = OnDemand<Pending>()

    init() {}

    /// The progress that the store has.
    init(_ progress: [AccountName: AccountProgress], lastOffset: UInt64) {
        for (account, marks) in progress.prefix(RoomReceipts.maxAccounts) {
            self.progress[account] = AccountProgress(
                delivered: min(marks.delivered, lastOffset), read: min(marks.read, lastOffset))
        }
    }

    /// Whether the store does not have the progress of some accounts.
    var hasUnsaved: Bool { !unsaved.isEmpty }

    /// Whether the store does not have the progress of an account.
    func isUnsaved(_ account: AccountName) -> Bool { unsaved.contains(account) }

    /// Takes the progress that the store does not have.
    mutating func takeUnsaved() -> [AccountName: AccountProgress] {
        let taken = progress.filter { unsaved.contains($0.key) }
        unsaved = []
        return taken
    }

    /// Accounts with progress.
    var accountCount: Int { progress.count }
    /// Accounts in the pending receipts and presence of all members.
    var pendingAccountCount: Int { pending.isAllocated ? pending.value.accountCount : 0 }

    subscript(account: AccountName) -> AccountProgress? { progress[account] }

    /// An account has taken the log up to an offset. Returns the offset before, or nil when the receipt changes
    /// nothing.
    ///
    /// - Parameter isSaved: Whether another relay passes the progress to the store.
    mutating func advance(
        _ account: AccountName, _ mark: Receipt.Mark, upTo offset: UInt64, isSaved: Bool = false
    ) -> UInt64? {
        let known = progress[account]
        guard known != nil || progress.count < RoomReceipts.maxAccounts else { return nil }
        var mine = known ?? AccountProgress()
        let before = mark == .read ? mine.read : mine.delivered
        guard offset > before else { return nil }
        if mark == .read { mine.read = offset }
        mine.delivered = max(mine.delivered, offset)
        progress[account] = mine
        furthestAccounts = nil
        if !isSaved { unsaved.insert(account) }
        return before
    }

    /// The accounts with the highest offsets, at most as many as a member that joins is sent.
    mutating func furthest() -> [AccountName] {
        if let furthestAccounts { return furthestAccounts }
        let sorted = progress.sorted { ($1.value.delivered, $0.key.text) < ($0.value.delivered, $1.key.text) }
        let furthest = sorted.prefix(RoomMembers.maxPresenceCount).map(\.key)
        furthestAccounts = furthest
        return furthest
    }

    // MARK: Pending changes

    /// A receipt is pending for a member. Returns true when the member's link has to be notified.
    mutating func note(_ mark: Receipt.Mark, of account: AccountName, on device: DeviceID?, for slot: Int) -> Bool {
        let isFirst = pending.value.changes[slot] == nil
        if pending.value.changes[slot, default: PendingChanges()].note(mark, of: account, on: device) {
            pending.value.accountCount += 1
        }
        return isFirst
    }

    /// A cancel is pending for a member. Returns true when the member's link has to be notified.
    mutating func note(cancel number: UInt64, for slot: Int) -> Bool {
        let isFirst = pending.value.changes[slot] == nil
        pending.value.changes[slot, default: PendingChanges()].note(cancel: number)
        return isFirst
    }

    /// The presence of accounts is pending for a member. Returns true when the member's link has to be notified.
    mutating func note(presenceOf accounts: [AccountName], for slot: Int) -> Bool {
        let isFirst = pending.value.changes[slot] == nil
        var changes = takePending(slot) ?? PendingChanges()
        changes.note(presenceOf: accounts)
        putBack(changes, slot)
        return isFirst
    }

    /// Whether the presence of accounts is pending for a member.
    func hasPresence(_ slot: Int) -> Bool {
        pending.isAllocated && pending.value.changes[slot]?.hasPresence == true
    }

    /// Whether a member has the maximum number of pending cancels.
    func hasManyCancels(_ slot: Int) -> Bool {
        pending.isAllocated && pending.value.changes[slot]?.cancelCount ?? 0 >= PendingChanges.maxCancels
    }

    /// Takes the pending changes of a member.
    @discardableResult
    mutating func takePending(_ slot: Int) -> PendingChanges? {
        guard pending.isAllocated, let changes = pending.value.changes.removeValue(forKey: slot) else { return nil }
        pending.value.accountCount -= changes.accountCount
        if pending.value.changes.isEmpty { pending.release() }
        return changes
    }

    /// Returns the pending changes that were not sent.
    mutating func putBack(_ changes: PendingChanges, _ slot: Int) {
        pending.value.accountCount += changes.accountCount
        pending.value.changes[slot] = changes
    }

    /// Checks that no change is pending.
    func check(_ check: inout QuiescenceCheck) {
        check.empty("members with pending changes", count: pending.value.changes.count)
        check.equal("accounts in pending changes", pendingAccountCount, 0)
    }
}
