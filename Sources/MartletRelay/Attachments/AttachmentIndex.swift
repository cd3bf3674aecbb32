import MartletLink
import MartletWire

/// The state of each attachment that a store keeps in memory, and the use of the store's bounds.
///
/// | state | owns | ends |
/// |---|---|---|
/// | promised | its whole length of what its account may promise, and no file | bytes; `remove`: discarded, expired, one of too many |
/// | incomplete | its bytes of the quota, and the rest as promised | complete; `remove`: discarded, expired |
/// | complete | its length of the quota of the account that has begun it last | `remove`: expired |
///
/// Only bytes that have arrived count against the bound of all attachments, so that promises exclude nobody (R-164,
/// Specs/hostile.md row 96).
package struct AttachmentIndex: Sendable {
    /// The name of an attachment in a store.
    package struct Name: Hashable, Sendable {
        var room: RoomName
        var digest: AttachmentDigest
        /// The account of an incomplete attachment; nil if it is complete.
        var account: AccountName?

        package init(room: RoomName, digest: AttachmentDigest, account: AccountName? = nil) {
            (self.room, self.digest, self.account) = (room, digest, account)
        }
    }

    package struct Entry: Sendable {
        package var account: AccountName
        var byteCount: UInt64
        /// The durable bytes; 0 if there is no file.
        package var position: UInt64
        var mediaType: String?
        /// The time from which the lifetime counts, in milliseconds since 1970.
        package var time: UInt64

        package init(account: AccountName, byteCount: UInt64, position: UInt64, mediaType: String?, time: UInt64) {
            (self.account, self.byteCount, self.position) = (account, byteCount, position)
            (self.mediaType, self.time) = (mediaType, time)
        }
    }

    private struct Use {
        var storedByteCount: UInt64 = 0
        var promisedByteCount: UInt64 = 0
        var count = 0
        var incompleteCount = 0
    }

    /// The maximum number of promises, uploads without bytes, beyond which the older half of them is forgotten.
    static let maxPromiseCount = 16_384

    let limits: AttachmentLimits
    private var entries: [Name: Entry] = [:]
    private var uses: [AccountName: Use] = [:]
    private var storedByteCount: UInt64 = 0
    private var promiseCount = 0
    /// The bytes of damaged files, which count against the bound of all attachments.
    var damagedByteCount: UInt64 = 0
    /// Names in the order in which the current search for expired ones visits them.
    private var toVisit: [Name] = []

    init(_ limits: AttachmentLimits) {
        self.limits = limits
    }

    var count: Int { entries.count }

    subscript(name: Name) -> Entry? { entries[name] }

    /// Changes an entry.
    mutating func update(_ name: Name, _ change: (inout Entry) -> Void) {
        guard var entry = remove(name) else { return }
        change(&entry)
        insert(name, entry)
    }

    // MARK: Bounds

    /// Checks that an incomplete attachment may be added.
    func admit(_ name: Name, _ byteCount: UInt64, of account: AccountName) throws(AttachmentFailure) {
        guard byteCount <= limits.maxByteCount else { throw .tooLarge }
        guard (uses[account]?.incompleteCount ?? 0) < limits.maxIncompleteCountPerAccount else { throw .quota }
        try admitToQuota(byteCount, of: account)
        try admitBytes(byteCount)
        guard entries.count - promiseCount < limits.maxCount else { throw .full }
    }

    /// Checks that an attachment may count against the quota of an account.
    func admitToQuota(_ byteCount: UInt64, of account: AccountName) throws(AttachmentFailure) {
        let use = uses[account] ?? Use()
        guard use.count < limits.maxCountPerAccount,
            Self.fits(byteCount, use.storedByteCount &+ use.promisedByteCount, limits.maxByteCountPerAccount)
        else { throw .quota }
    }

    /// Checks that bytes which have arrived may be stored.
    func admitBytes(_ byteCount: UInt64) throws(AttachmentFailure) {
        guard Self.fits(byteCount, storedByteCount &+ damagedByteCount, limits.maxTotalByteCount) else { throw .full }
    }

    private static func fits(_ byteCount: UInt64, _ used: UInt64, _ limit: UInt64) -> Bool {
        used <= limit && byteCount <= limit - used
    }

    // MARK: Entries

    /// Removes the entries for which a closure returns true.
    mutating func removeAll(where isRemoved: (Name, Entry) -> Bool) {
        for (name, entry) in entries where isRemoved(name, entry) { remove(name) }
    }

    mutating func insert(_ name: Name, _ entry: Entry) {
        remove(name)
        entries[name] = entry
        count(name, entry, 1)
        if promiseCount > Self.maxPromiseCount { forgetOldPromises() }
    }

    @discardableResult
    mutating func remove(_ name: Name) -> Entry? {
        guard let entry = entries.removeValue(forKey: name) else { return nil }
        count(name, entry, -1)
        return entry
    }

    /// Adds an entry to the use of the bounds, or subtracts it. A folder may name lengths whose sum is beyond a number.
    private mutating func count(_ name: Name, _ entry: Entry, _ sign: Int) {
        func add(_ byteCount: UInt64, to sum: inout UInt64) { sum = sign > 0 ? sum &+ byteCount : sum &- byteCount }
        var use = uses[entry.account] ?? Use()
        let isIncomplete = name.account != nil
        add(isIncomplete ? entry.position : entry.byteCount, to: &use.storedByteCount)
        add(isIncomplete ? entry.position : entry.byteCount, to: &storedByteCount)
        if isIncomplete {
            add(entry.byteCount &- entry.position, to: &use.promisedByteCount)
            use.incompleteCount += sign
            if entry.position == 0 { promiseCount += sign }
        }
        use.count += sign
        uses[entry.account] = use.count == 0 ? nil : use
    }

    private mutating func forgetOldPromises() {
        let promises = entries.filter { $0.key.account != nil && $0.value.position == 0 }
        for (name, _) in promises.sorted(by: { $0.value.time < $1.value.time }).prefix(promises.count / 2) {
            remove(name)
        }
    }

    /// The attachments of a room that count for an account.
    func names(of account: AccountName, in room: RoomName) -> [Name] {
        guard uses[account] != nil else { return [] }
        return entries.filter { $0.key.room == room && $0.value.account == account }.map(\.key)
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
        let age = now - min(entry.time, now)
        return age / 1000 >= UInt64(clamping: lifetime.components.seconds)
    }
}
