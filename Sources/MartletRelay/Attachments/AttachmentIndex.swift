import MartletProtocol
import MartletWire

/// The state of each attachment that a store keeps in memory, and the use of the store's bounds.
///
/// | state | owns | ends |
/// |---|---|---|
/// | incomplete | its whole length of the quota of its account | `complete`; `remove`: discarded, expired |
/// | complete | the same | `remove`: expired |
struct AttachmentIndex: Sendable {
    /// The name of an attachment in a store.
    struct Name: Hashable, Sendable {
        var room: RoomName
        var digest: AttachmentDigest
        /// The account of an incomplete attachment; nil if it is complete.
        var account: AccountName?
    }

    struct Entry: Sendable {
        var account: AccountName
        var byteCount: UInt64
        /// The durable bytes.
        var position: UInt64
        var mediaType: String?
        /// The time from which the lifetime counts, in milliseconds since 1970.
        var time: UInt64
    }

    private struct Use {
        var byteCount: UInt64 = 0
        var count = 0
        var incompleteCount = 0
    }

    let limits: AttachmentLimits
    private var entries: [Name: Entry] = [:]
    private var uses: [AccountName: Use] = [:]
    private var total: UInt64 = 0
    /// Names in the order in which the present search for expired ones visits them.
    private var toVisit: [Name] = []

    init(_ limits: AttachmentLimits) {
        self.limits = limits
    }

    var count: Int { entries.count }

    subscript(name: Name) -> Entry? { entries[name] }

    /// Changes an entry, whose account and length stay the same.
    mutating func update(_ name: Name, _ change: (inout Entry) -> Void) {
        guard var entry = entries[name] else { return }
        change(&entry)
        entries[name] = entry
    }

    /// Checks that an incomplete attachment may be added.
    func admit(_ name: Name, _ byteCount: UInt64, of account: AccountName) throws(AttachmentFailure) {
        guard byteCount <= limits.maxByteCount else { throw .tooLarge }
        let use = uses[account] ?? Use()
        let (mine, isMineOver) = use.byteCount.addingReportingOverflow(byteCount)
        guard !isMineOver, mine <= limits.maxByteCountPerAccount, use.count < limits.maxCountPerAccount,
            use.incompleteCount < limits.maxIncompleteCountPerAccount
        else { throw .quota }
        let (all, isOver) = total.addingReportingOverflow(byteCount)
        guard !isOver, all <= limits.maxTotalByteCount, entries.count < limits.maxCount else { throw .full }
    }

    mutating func insert(_ name: Name, _ entry: Entry) {
        remove(name)
        entries[name] = entry
        total += entry.byteCount
        uses[entry.account, default: Use()].byteCount += entry.byteCount
        uses[entry.account, default: Use()].count += 1
        if name.account != nil { uses[entry.account, default: Use()].incompleteCount += 1 }
    }

    @discardableResult
    mutating func remove(_ name: Name) -> Entry? {
        guard let entry = entries.removeValue(forKey: name), var use = uses[entry.account] else { return nil }
        total -= entry.byteCount
        use.byteCount -= entry.byteCount
        use.count -= 1
        if name.account != nil { use.incompleteCount -= 1 }
        uses[entry.account] = use.count == 0 ? nil : use
        return entry
    }

    /// The next expired attachments among the next `stepCount`, and whether the search has more.
    mutating func expired(at now: UInt64, stepCount: Int) -> (names: [Name], hasMore: Bool) {
        if toVisit.isEmpty { toVisit = Array(entries.keys) }
        let step = toVisit.suffix(stepCount)
        toVisit.removeLast(step.count)
        return (step.filter { isExpired($0, at: now) }, !toVisit.isEmpty)
    }

    /// Whether the store has the attachment and its lifetime has ended.
    func isExpired(_ name: Name, at now: UInt64) -> Bool {
        guard let entry = entries[name] else { return false }
        let lifetime = name.account == nil ? limits.lifetime : limits.incompleteLifetime
        return entry.time &+ UInt64(clamping: lifetime.components.seconds) &* 1000 <= now
    }
}
