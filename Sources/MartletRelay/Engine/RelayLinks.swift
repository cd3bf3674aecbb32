import MartletLink
import MartletWire

/// The relay's state of its links by slot, with the accounts of the links and their part of the memory budget.
///
/// A link has the same slot here and in the `LinkTable`.
struct RelayLinks: ~Copyable {
    private var links = SlotTable<RelayLink>()
    private var accounts: AccountTable
    /// Bytes that links hold, as of the last `settle` of each.
    private(set) var byteCount = 0

    /// - Parameter rate: The rate of each account; nil without a bound.
    init(rate: MessageRate?) {
        accounts = AccountTable(rate: rate)
    }

    subscript(slot: Int) -> RelayLink {
        @inline(__always) unsafeAddress { unsafe links.address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe links.mutableAddress(slot) }
    }

    // MARK: Begin and end

    /// Whether an account may have one more link. Otherwise the account's longest suspended link has to end, which
    /// harms this account only (C-64, Specs/hostile.md row 33).
    mutating func admission(
        ofLinkOf account: AccountName, maxCount: Int, in table: borrowing LinkTable, now: Instant
    ) -> LinkAdmission {
        let account = accounts.index(of: account, now: now)
        guard accounts.linkCount(account) >= maxCount else { return .admitted }
        guard let slot = accounts.oldestSuspended(of: account).flatMap({ table.slot($0) }) else {
            return .refused(.tooManyLinks)
        }
        return .replaces(slot: slot)
    }

    /// A link begins.
    mutating func insert(_ slot: Int, _ link: inout ServerLink, claims: Claims, now: Instant) {
        let account = accounts.index(of: link.who.account, now: now)
        link.link.unproductive = accounts.unproductive(account)
        let inserted = links.insert(RelayLink(key: link.key, account: account, claims: claims))
        precondition(inserted == slot, "the tables of links have different slots")
        accounts.addLink(link.key, of: account)
    }

    /// Removes a link that ends, and returns it.
    mutating func remove(_ slot: Int, _ link: borrowing ServerLink, now: Instant) -> RelayLink {
        attached(slot)
        let removed = links.remove(slot)
        accounts.noteUnproductive(link.link.unproductive, of: removed.account)
        accounts.removeLink(removed.key, of: removed.account, now: now)
        byteCount -= removed.charge
        return removed
    }

    /// The next accounts that have links.
    func accountPage(from place: Int, limit: Int) -> (items: [AccountOverview], next: Int?) {
        accounts.page(from: place, limit: limit)
    }

    /// A link has a connection.
    mutating func attached(_ slot: Int) { accounts.unsuspend(links[slot].key, of: links[slot].account) }

    /// A link has lost its connection.
    mutating func suspended(_ slot: Int) {
        links[slot].releaseIdleMemory()
        accounts.suspend(links[slot].key, of: links[slot].account)
    }

    /// The longest suspended link of the account that has most of them.
    var oldestSuspendedOfLargest: LinkKey? { accounts.oldestSuspendedOfLargest }

    // MARK: Sessions

    /// Takes a session's opening from the account's rate. Returns the instant of the next one when the rate is
    /// exceeded.
    mutating func takeOpen(_ slot: Int, now: Instant) -> Instant? {
        let account = links[slot].account
        return accounts.takeOpen(account, now: now) ? nil : accounts.opensAt(account)
    }

    /// The link's account has requested an operation on a room.
    mutating func spendOperation(_ units: Int, of slot: Int, now: Instant) {
        accounts.spendOperation(units, of: links[slot].account, now: now)
    }

    /// Whether the link's account may request an operation on a room.
    func mayOperate(_ slot: Int, now: Instant) -> Bool { accounts.mayOperate(links[slot].account, now: now) }

    /// The instant from which on the link's account may request an operation on a room.
    func operatesAt(_ slot: Int) -> Instant { accounts.operatesAt(links[slot].account) }

    /// The link's account publishes a message.
    mutating func spend(byteCount: Int, of slot: Int, now: Instant) {
        if accounts.isRated { accounts.spend(byteCount: byteCount, of: links[slot].account, now: now) }
    }

    /// The instant at which the link's account may publish more; nil if it may now.
    func waitsUntil(_ slot: Int, now: Instant) -> Instant? {
        accounts.isRated ? accounts.waitsUntil(links[slot].account, now: now) : nil
    }

    mutating func addSession(_ session: SessionID, _ membership: RelayLink.Membership, of slot: Int) {
        links[slot].sessions[session] = membership
        accounts.changeSessions(of: links[slot].key, of: links[slot].account, by: 1)
    }

    mutating func removeSession(_ session: SessionID, of slot: Int, _ link: inout Link) -> RelayLink.Membership? {
        guard let membership = links[slot].removeSession(session, &link) else { return nil }
        accounts.changeSessions(of: links[slot].key, of: links[slot].account, by: -1)
        return membership
    }

    // MARK: Memory

    /// Updates the byte count after a change of a link.
    @inline(__always)
    mutating func settle(_ slot: Int, _ link: borrowing ServerLink) {
        byteCount += links[slot].takeChargeChange(link)
    }

    /// Recounts the queues, which may have shrunk by acknowledgements. Links with empty queues are skipped.
    mutating func recount(_ table: borrowing LinkTable) {
        for slot in links.slots where links.isLive(slot) && links[slot].hasQueued {
            links[slot].countQueued(table[slot].link)
            settle(slot, table[slot])
        }
    }

    /// The link with most sessions of the account that has most, and the number of the account's sessions; nil when
    /// every account has few.
    func linkWithMostSessions() -> (link: LinkKey, sessionCount: Int)? {
        accounts.linkWithMostSessions(above: RelayLink.exemptSessionCount)
    }

    /// Links with considerable queues, by the bytes of their accounts and then by their own, largest first. Accounts
    /// that hold less than `least` bytes are omitted.
    func holders(
        above least: Int, areSuspended: Bool, _ table: borrowing LinkTable, _ server: borrowing LinkServer
    ) -> [Int] {
        var found: [(slot: Int, account: Int32, byteCount: Int)] = []
        var byteCountOfAccount: [Int32: Int] = [:]
        for slot in links.slots where links.isLive(slot) && (table[slot].suspendedAt != nil) == areSuspended {
            var byteCount = links[slot].waitingByteCount(table[slot].link)
            if let connection = table[slot].connection { byteCount += server.unsentByteCount(of: connection) }
            guard byteCount >= RelayLink.minResetByteCount else { continue }
            found.append((slot, links[slot].account, byteCount))
            byteCountOfAccount[links[slot].account, default: 0] += byteCount
        }
        found.removeAll { byteCountOfAccount[$0.account] ?? 0 < least }
        return found.sorted {
            let (left, right) = (byteCountOfAccount[$0.account] ?? 0, byteCountOfAccount[$1.account] ?? 0)
            return (right, $0.account, $1.byteCount, $0.slot) < (left, $1.account, $0.byteCount, $1.slot)
        }.map(\.slot)
    }
}
