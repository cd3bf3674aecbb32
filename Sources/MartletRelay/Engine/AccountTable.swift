import MartletLink
import MartletWire

/// The accounts with links on this loop, their numbers of links and sessions, and their suspended links.
///
/// All links of an account are on one loop, so this table counts all of them. An account is kept for `lifetime` after
/// its last link, so that a new link does not restart its rates. The next change of the table then removes it, without
/// a timer.
///
///     with links ──last link ends──► idle ──lifetime over, or too many are idle──► removed
///         ▲                            │
///         └───────── first link ───────┘
struct AccountTable: ~Copyable, Sendable {
    /// The duration for which an account without links is kept.
    static let lifetime: Duration = .seconds(60)
    /// The maximum number of kept accounts without links.
    static let maxIdleCount = 16_384
    /// The number of sessions that an account may open at once, over all of its links (S-4).
    static let opensBurst = 512
    /// The number of sessions that an account may open in a minute, beyond the burst.
    static let opensPerMinute = 66 * 60
    /// The units of operations on rooms that an account may request at once (R-72, Specs/hostile.md row 66).
    static let operationsBurst = 1_024
    /// The units of operations on rooms that an account may request in a minute, beyond the burst.
    static let operationsPerMinute = 100 * 60

    private struct Account: Sendable {
        let name: AccountName
        /// The links and their numbers of sessions.
        var links: [Holding] = []
        /// The number of sessions of all links.
        var sessionCount = 0
        var opens = TokenBucket(burst: AccountTable.opensBurst, perMinute: AccountTable.opensPerMinute)
        var operations = TokenBucket(burst: AccountTable.operationsBurst, perMinute: AccountTable.operationsPerMinute)
        /// The lowest remaining allowance of the ended links (S-59).
        var unproductive = Link.unproductiveBucket
        /// The allowance for messages; nil without a bound.
        var allowance: MessageAllowance?
        /// The links without a connection, the longest suspended first.
        var suspended: [LinkKey] = []
        /// The instant at which the last link ended; nil while there is a link.
        var idleSince: Instant?
        /// The neighbours among the accounts with as many suspended links; negative at the ends.
        var before: Int32 = -1
        var after: Int32 = -1
    }

    /// A link and its sessions.
    private struct Holding: Sendable {
        let link: LinkKey
        var sessionCount = 0
    }

    /// The accounts with the same number of suspended links, in the order in which they reached it.
    private struct Rank: Sendable {
        var first: Int32 = -1
        var last: Int32 = -1
    }

    private struct Idle: Sendable {
        var account: Int32
        var since: Instant
    }

    private let rate: MessageRate?
    private var accounts = SlotTable<Account>()
    private var accountOfName = SlotIndex()
    /// The ranks by number of suspended links, from 1. The last rank is not empty.
    private var ranks: [Rank] = []
    private var idle = Deque<Idle>()

    /// - Parameter rate: The rate of each account; nil without a bound.
    init(rate: MessageRate? = nil) {
        self.rate = rate
    }

    /// Accounts in the table.
    var count: Int { accounts.count }

    /// An account's index, which is valid while it has a link and `lifetime` longer; nil for an unknown account.
    func find(_ name: AccountName) -> Int32? {
        accountOfName.find(name) { accounts[$0].name == name }.map { Int32($0) }
    }

    /// An account's index; adds the account if it is unknown.
    mutating func index(of name: AccountName, now: Instant) -> Int32 {
        removeIdle(now: now)
        if let found = find(name) { return found }
        let slot = accounts.insert(Account(name: name, allowance: rate.map { MessageAllowance($0) }, idleSince: now))
        accountOfName.insert(name, slot)
        idle.append(Idle(account: Int32(slot), since: now))
        return Int32(slot)
    }

    /// The next accounts that have links, and the place of the next page.
    func page(from place: Int, limit: Int) -> (items: [AccountOverview], next: Int?) {
        let page = TablePage.slots(accounts.slots, from: place, limit: limit) {
            accounts.isLive($0) && !accounts[$0].links.isEmpty
        }
        let items = page.slots.map { slot in
            AccountOverview(
                account: accounts[slot].name, linkCount: UInt32(accounts[slot].links.count),
                sessionCount: UInt32(accounts[slot].sessionCount))
        }
        return (items, page.next)
    }

    /// Links of an account, with a connection or without.
    func linkCount(_ account: Int32) -> Int { accounts[Int(account)].links.count }

    /// An account opens a session; false when the rate is exceeded.
    mutating func takeOpen(_ account: Int32, now: Instant) -> Bool { accounts[Int(account)].opens.take(now: now) }

    /// The instant from which on an account may open a session.
    func opensAt(_ account: Int32) -> Instant { accounts[Int(account)].opens.availableAt() }

    /// An account has requested an operation. Its cost is known afterwards, so the rate may be overdrawn.
    mutating func spendOperation(_ units: Int, of account: Int32, now: Instant) {
        accounts[Int(account)].operations.spend(units, now: now)
    }

    /// Whether an account has not overdrawn its rate of operations.
    func mayOperate(_ account: Int32, now: Instant) -> Bool { operatesAt(account) <= now }

    /// The instant from which on an account's rate of operations is not overdrawn.
    func operatesAt(_ account: Int32) -> Instant { accounts[Int(account)].operations.availableAt(0) }

    /// Whether accounts have a rate.
    var isRated: Bool { rate != nil }

    /// An account publishes a message.
    mutating func spend(byteCount: Int, of account: Int32, now: Instant) {
        accounts[Int(account)].allowance?.spend(byteCount: byteCount, now: now)
    }

    /// The instant at which an account may publish more; nil if it may now.
    func waitsUntil(_ account: Int32, now: Instant) -> Instant? {
        guard let at = accounts[Int(account)].allowance?.creditAt, at > now else { return nil }
        return at
    }

    /// The allowance of frames without progress for the next link of an account.
    func unproductive(_ account: Int32) -> TokenBucket { accounts[Int(account)].unproductive }

    /// A link of an account ends with this remaining allowance.
    mutating func noteUnproductive(_ bucket: TokenBucket, of account: Int32) {
        if bucket.isEmptier(than: accounts[Int(account)].unproductive) { accounts[Int(account)].unproductive = bucket }
    }

    /// An account has one more link, without sessions.
    mutating func addLink(_ link: LinkKey, of account: Int32) {
        accounts[Int(account)].links.append(Holding(link: link))
        accounts[Int(account)].idleSince = nil
    }

    /// The number of sessions of a link has changed.
    mutating func changeSessions(of link: LinkKey, of account: Int32, by count: Int) {
        guard let index = accounts[Int(account)].links.firstIndex(where: { $0.link == link }) else { return }
        accounts[Int(account)].links[index].sessionCount += count
        accounts[Int(account)].sessionCount += count
    }

    /// The link with most sessions of the account with most sessions, and the number of the account's sessions; nil
    /// when no account has more than `count`.
    func linkWithMostSessions(above count: Int) -> (link: LinkKey, sessionCount: Int)? {
        var most = count
        var found: Int?
        for slot in accounts.slots where accounts.isLive(slot) && accounts[slot].sessionCount > most {
            (most, found) = (accounts[slot].sessionCount, slot)
        }
        guard let found, let link = accounts[found].links.max(by: { $0.sessionCount < $1.sessionCount })?.link else {
            return nil
        }
        return (link, most)
    }

    /// Removes a link that is not suspended.
    mutating func removeLink(_ link: LinkKey, of account: Int32, now: Instant) {
        if let index = accounts[Int(account)].links.firstIndex(where: { $0.link == link }) {
            accounts[Int(account)].sessionCount -= accounts[Int(account)].links.remove(at: index).sessionCount
        }
        if accounts[Int(account)].links.isEmpty {
            accounts[Int(account)].idleSince = now
            idle.append(Idle(account: account, since: now))
        }
        removeIdle(now: now)
    }

    // MARK: Suspended links

    /// The longest suspended link of an account.
    func oldestSuspended(of account: Int32) -> LinkKey? { accounts[Int(account)].suspended.first }

    /// The longest suspended link of the account with most suspended links. Of several such accounts, the first to
    /// reach the number counts.
    var oldestSuspendedOfLargest: LinkKey? {
        ranks.last.flatMap { accounts[Int($0.first)].suspended.first }
    }

    /// A link of an account has lost its connection.
    mutating func suspend(_ link: LinkKey, of account: Int32) {
        unrank(account)
        accounts[Int(account)].suspended.append(link)
        rank(account)
    }

    /// A link of an account has a connection again, or ends.
    mutating func unsuspend(_ link: LinkKey, of account: Int32) {
        guard let index = accounts[Int(account)].suspended.firstIndex(of: link) else { return }
        unrank(account)
        accounts[Int(account)].suspended.remove(at: index)
        rank(account)
    }

    private mutating func rank(_ account: Int32) {
        let count = accounts[Int(account)].suspended.count
        guard count > 0 else { return }
        while ranks.count < count { ranks.append(Rank()) }
        let last = ranks[count - 1].last
        accounts[Int(account)].before = last
        accounts[Int(account)].after = -1
        if last < 0 { ranks[count - 1].first = account } else { accounts[Int(last)].after = account }
        ranks[count - 1].last = account
    }

    private mutating func unrank(_ account: Int32) {
        let count = accounts[Int(account)].suspended.count
        guard count > 0 else { return }
        let (before, after) = (accounts[Int(account)].before, accounts[Int(account)].after)
        if before < 0 { ranks[count - 1].first = after } else { accounts[Int(before)].after = after }
        if after < 0 { ranks[count - 1].last = before } else { accounts[Int(after)].before = before }
        while let last = ranks.last, last.first < 0 { ranks.removeLast() }
    }

    // MARK: Accounts without links

    private mutating func removeIdle(now: Instant) {
        while let first = idle.first,
            idle.count > AccountTable.maxIdleCount || first.since + AccountTable.lifetime <= now
        {
            _ = idle.popFirst()
            let slot = Int(first.account)
            guard accounts.isLive(slot), accounts[slot].idleSince == first.since else { continue }
            // An overdrawn account is kept, so that its next link does not restart its allowance.
            if idle.count < AccountTable.maxIdleCount, waitsUntil(first.account, now: now) != nil {
                accounts[slot].idleSince = now
                idle.append(Idle(account: first.account, since: now))
                continue
            }
            accountOfName.remove(accounts[slot].name, slot)
            accounts.remove(slot)
        }
    }
}
