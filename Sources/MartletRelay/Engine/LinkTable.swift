import MartletLink
import MartletWire

/// The links of one loop: their indexes, accounts, timers, suspensions and part of the memory budget.
///
/// | state of a link | owns | ends |
/// |---|---|---|
/// | connected | a timer for acknowledgements and idle memory | `suspend`; `remove` |
/// | suspended | an entry in the order of suspensions | `resume`; `remove`, at the end of the resume lifetime (R-30) |
///
/// All suspensions have the same lifetime, so they are kept in the order of their begin and none has a timer. An
/// outdated suspension is removed when it is first.
struct LinkTable: ~Copyable {
    private struct Suspension: Sendable {
        var link: LinkKey
        var since: Instant
    }

    private let loop: UInt8
    private var links = SlotTable<RelayLink>()
    private var slotOfDevice = SlotIndex()
    private var slotOfID = SlotIndex()
    private var accounts: AccountTable
    private var suspensions = Deque<Suspension>()
    private(set) var suspendedCount = 0
    private var timers = SlotTimers()
    private var generation: UInt32 = 0
    private var lastID: UInt64
    /// Bytes that links hold, as of the last `settle` of each.
    private(set) var byteCount = 0

    /// - Parameters:
    ///   - firstID: the number before the first link's ID.
    ///   - rate: the rate of each account; nil without a bound.
    init(loop: UInt8, firstID: UInt64, rate: MessageRate? = nil) {
        self.loop = loop
        accounts = AccountTable(rate: rate)
        lastID = firstID
    }

    var count: Int { links.count }
    var slots: Range<Int> { links.slots }
    /// Suspensions, outdated ones included.
    var suspensionCount: Int { suspensions.count }
    /// Links, their timers and suspensions, and the entries of the indexes.
    var heldCount: Int {
        links.count + timers.count + suspensions.count + slotOfDevice.count + slotOfID.count
    }

    @inline(__always)
    func isLive(_ slot: Int) -> Bool { links.isLive(slot) }

    subscript(slot: Int) -> RelayLink {
        @inline(__always) unsafeAddress { unsafe links.address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe links.mutableAddress(slot) }
    }

    /// The slot of a key; nil when its link has ended.
    @inline(__always)
    mutating func slot(_ key: LinkKey) -> Int? {
        let slot = Int(key.slot)
        return links.isLive(slot) && links[slot].key == key ? slot : nil
    }

    /// The link of a device, of which there is at most one (C-2).
    func slot(of who: DeviceKey) -> Int? { slotOfDevice.find(who) { links[$0].who == who } }

    func slot(of id: LinkID) -> Int? { slotOfID.find(id) { links[$0].id == id } }

    // MARK: Begin and end

    /// Whether an account may have one more link.
    enum OnAdd {
        case fits
        /// The account's longest suspended link has to end, which harms this account only (C-64, Specs/hostile.md row
        /// 33).
        case replaces(slot: Int)
        case tooManyLinks
    }

    mutating func check(anotherLinkOf account: AccountName, maxCount: Int, now: Instant) -> OnAdd {
        let account = accounts.index(of: account, now: now)
        guard accounts.linkCount(account) >= maxCount else { return .fits }
        return accounts.oldestSuspended(of: account).flatMap { slot($0) }.map { .replaces(slot: $0) } ?? .tooManyLinks
    }

    /// Adds a link of a device that has none.
    mutating func insert(
        _ link: consuming Link, for who: DeviceKey, claims: Claims, token: TokenDigest, now: Instant
    ) -> Int {
        generation &+= 1
        lastID &+= 1
        let account = accounts.index(of: who.account, now: now)
        link.unproductive = accounts.unproductive(account)
        let key = LinkKey(slot: Int32(links.nextSlot), generation: generation, loop: loop)
        let id = LinkID(rawValue: lastID)
        let slot = links.insert(
            RelayLink(key: key, id: id, who: who, claims: claims, account: account, link: link, token: token))
        slotOfDevice.insert(who, slot)
        slotOfID.insert(id, slot)
        accounts.addLink(key, of: account)
        return slot
    }

    /// Removes a link and returns it.
    mutating func remove(_ slot: Int, now: Instant) -> RelayLink {
        resume(slot)
        let link = links.remove(slot)
        accounts.noteUnproductive(link.link.unproductive, of: link.account)
        accounts.removeLink(link.key, of: link.account, now: now)
        byteCount -= link.charge
        timers.cancel(slot)
        slotOfDevice.remove(link.who, slot)
        slotOfID.remove(link.id, slot)
        return link
    }

    // MARK: Suspensions

    /// A link has lost its connection.
    mutating func suspend(_ slot: Int, now: Instant) {
        links[slot].suspendedAt = now
        suspendedCount += 1
        accounts.suspend(links[slot].key, of: links[slot].account)
        suspensions.append(Suspension(link: links[slot].key, since: now))
    }

    /// A link has a connection again, or ends.
    mutating func resume(_ slot: Int) {
        guard links[slot].suspendedAt != nil else { return }
        links[slot].suspendedAt = nil
        suspendedCount -= 1
        accounts.unsuspend(links[slot].key, of: links[slot].account)
        while let first = suspensions.first, currentSlot(of: first) == nil { _ = suspensions.popFirst() }
    }

    /// The instant at which the longest suspension ends.
    func suspensionDeadline(lifetime: Duration) -> Instant? { suspensions.first.map { $0.since + lifetime } }

    /// The next link whose suspension has lasted for the lifetime.
    mutating func popExpiredSuspension(lifetime: Duration, now: Instant) -> Int? {
        while let first = suspensions.first, first.since + lifetime <= now {
            _ = suspensions.popFirst()
            if let slot = currentSlot(of: first) { return slot }
        }
        return nil
    }

    /// The longest suspended link of the account that has most, if more than `maxCount` links are suspended (C-62).
    mutating func surplusSuspended(maxCount: Int) -> Int? {
        if suspendedCount > maxCount { return oldestSuspendedOfLargest }
        guard suspensions.count > RelayEngine.maxQueued(current: suspendedCount) else { return nil }
        for _ in suspensions.indices {
            if let first = suspensions.popFirst(), currentSlot(of: first) != nil { suspensions.append(first) }
        }
        return nil
    }

    private mutating func currentSlot(of suspension: Suspension) -> Int? {
        guard let slot = slot(suspension.link), links[slot].suspendedAt == suspension.since else { return nil }
        return slot
    }

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
    mutating func mayOperate(_ slot: Int, now: Instant) -> Bool { accounts.mayOperate(links[slot].account, now: now) }

    /// The instant from which on the link's account may request an operation on a room.
    mutating func operatesAt(_ slot: Int) -> Instant { accounts.operatesAt(links[slot].account) }

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

    mutating func removeSession(_ session: SessionID, of slot: Int) -> RelayLink.Membership? {
        guard let membership = links[slot].removeSession(session) else { return nil }
        accounts.changeSessions(of: links[slot].key, of: links[slot].account, by: -1)
        return membership
    }

    // MARK: Timers

    /// The earliest timer of a connected link.
    var deadline: Instant? { timers.earliest }

    /// Sets the timer of a connected link to its deadline, unless the timer is earlier. Setting it for every
    /// acknowledgement would cost more than a timer that fires early.
    @inline(__always)
    mutating func arm(_ slot: Int, now: Instant) {
        if let deadline = links[slot].deadline(now: now) { arm(slot, at: deadline) }
    }

    @inline(__always)
    mutating func arm(_ slot: Int, at deadline: Instant) {
        if let armed = links[slot].armedAt, armed <= deadline { return }
        links[slot].armedAt = deadline
        timers.set(slot, at: deadline)
    }

    /// Takes the next link whose timer has fired, if it has a connection.
    mutating func popExpired(now: Instant) -> Int? {
        while let slot = timers.popExpired(now: now) {
            guard links.isLive(slot) else { continue }
            links[slot].armedAt = nil
            if links[slot].connection != nil { return slot }
        }
        return nil
    }

    // MARK: Memory

    /// Updates the byte count after a change of a link.
    @inline(__always)
    mutating func settle(_ slot: Int) { byteCount += links[slot].takeChargeChange() }

    /// Recounts the queues, which may have shrunk by acknowledgements. Links with empty queues are skipped.
    mutating func recount() {
        for slot in links.slots where links.isLive(slot) && links[slot].hasQueued {
            links[slot].countQueued()
            settle(slot)
        }
    }

    /// The longest suspended link of the account that has most of them.
    var oldestSuspendedOfLargest: Int? { mutating get { accounts.oldestSuspendedOfLargest.flatMap { slot($0) } } }

    /// The link with most sessions of the account that has most, and the number of the account's sessions; nil when
    /// every account has few.
    mutating func linkWithMostSessions() -> (slot: Int, sessionCount: Int)? {
        guard let largest = accounts.linkWithMostSessions(above: RelayLink.exemptSessionCount),
            let slot = slot(largest.link)
        else {
            return nil
        }
        return (slot, largest.sessionCount)
    }

    /// Links with considerable queues, by the bytes of their accounts and then by their own, largest first. Accounts
    /// that hold less than `least` bytes are omitted.
    func holders(above least: Int, areSuspended: Bool, _ connections: borrowing ConnectionTable) -> [Int] {
        var found: [(slot: Int, account: Int32, byteCount: Int)] = []
        var byteCountOfAccount: [Int32: Int] = [:]
        for slot in links.slots where links.isLive(slot) && (links[slot].suspendedAt != nil) == areSuspended {
            let unsent = links[slot].connection.map { Int(connections[$0].unsentByteCount) } ?? 0
            let byteCount = links[slot].waitingByteCount + unsent
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

    // MARK: Quiescence

    /// Checks that every link is connected and idle.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("suspended links", suspendedCount, 0)
        for slot in slots where links.isLive(slot) { check.add(links[slot].quiescence()) }
    }
}
