import MartletLink
import MartletWire

/// The members of a room by slot and by account, and their presence.
///
/// | state of a slot | owns | ends |
/// |---|---|---|
/// | free | nothing | `insert` |
/// | present | a member, an entry among the account's | `leave` |
/// | closing | a member | `remove`, when its last messages are accepted |
///
/// An account is online when one of its members has a connection, and away when none has. A room with many
/// members reports no presence.
struct RoomMembers: ~Copyable, Sendable {
    /// The maximum number of members of a room.
    static let maxCount = 16_384
    /// The maximum number of members of a room that reports presence and earlier progress.
    static let maxPresenceCount = 256

    private var members = SlotTable<RoomMember>()
    private var accounts = AccountSlots()
    private var presenceChanges = PresenceChanges()
    private var presenceReports = PresenceReports()
    /// Members that have not left.
    private(set) var count = 0
    /// Whether a member joined whose link reads no packets: bodies are summed once for all such members.
    private(set) var hasPlainReaders = false
    /// Slots of members with more messages than one step of a turn delivers.
    private var unfinished: [Int] = []
    /// The number of bytes of an item of the bus; 0 without a bus.
    var busItemByteCount = 0
    /// Allocated when a member joins, if there is a bus.
    private var allocatedRemote = OnDemand<RemoteMembers>()

    /// The members at other relays of the bus.
    var remote: RemoteMembers {
        @inline(__always) unsafeAddress { unsafe allocatedRemote.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedRemote.mutableAddress() }
    }

    /// Whether there are members at other relays of the bus.
    @inline(__always)
    var hasRemote: Bool { allocatedRemote.isAllocated && remote.count > 0 }
    /// Whether progress of members at other relays waits for messages.
    @inline(__always)
    var hasWaitingProgress: Bool { allocatedRemote.isAllocated && remote.hasWaiting }
    /// Whether changes are reported to the other relays of the bus now.
    @inline(__always)
    func hasBusReport(isLast: Bool, now: Instant) -> Bool {
        allocatedRemote.isAllocated && remote.isDue(isLast: isLast, now: now)
    }
    /// Whether the other relays of the bus know that there are members.
    var isAnnounced: Bool { allocatedRemote.isAllocated && remote.isAnnounced }
    /// Bytes of the members at other relays, with objects.
    var remoteByteCount: Int { allocatedRemote.isAllocated ? remote.byteCount : 0 }

    var isFull: Bool { count >= RoomMembers.maxCount }
    /// Whether the room reports presence and earlier progress.
    var reportsPresence: Bool {
        count + (allocatedRemote.isAllocated ? remote.count : 0) <= RoomMembers.maxPresenceCount
    }
    var slots: Range<Int> { members.slots }
    /// Slots in use, members that have left included.
    var slotCount: Int { members.count }
    /// The instant at which presence changes, or reports to other relays, are due.
    var deadline: Instant? {
        presenceChanges.deadline.orEarlier(allocatedRemote.isAllocated ? remote.deadline : nil)
    }
    var hasUnfinished: Bool { !unfinished.isEmpty }

    subscript(slot: Int) -> RoomMember {
        @inline(__always) unsafeAddress { unsafe members.address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe members.mutableAddress(slot) }
    }

    @inline(__always)
    func isLive(_ slot: Int) -> Bool { members.isLive(slot) }

    /// Whether a slot has a member that has not left.
    @inline(__always)
    func isPresent(_ slot: Int) -> Bool { members.isLive(slot) && !members[slot].hasLeft }

    /// The slot of a handle; nil when its member was removed.
    @inline(__always)
    func slot(_ handle: MemberHandle) -> Int? {
        let slot = Int(handle.slot)
        return members.isLive(slot) && members[slot].key == handle.key ? slot : nil
    }

    /// The slots of an account's present members in the order of their joins.
    func slots(of account: AccountName) -> [Int] { accounts.slots(of: account, in: members) }

    // MARK: Membership

    mutating func insert(_ member: RoomMember) -> Int {
        let before = presence(of: member.who.account)
        let slot = members.insert(member)
        count += 1
        accounts.add(slot, to: &members)
        noteFeatures(member.features)
        notePresence(of: slot, from: before)
        return slot
    }

    /// A member leaves. It is not present any more, but keeps its slot until `remove`.
    mutating func leave(_ slot: Int) {
        let account = members[slot].who.account
        let before = presence(of: account)
        members[slot].hasLeft = true
        count -= 1
        accounts.remove(slot, of: account)
        notePresence(of: slot, from: before)
    }

    mutating func remove(_ slot: Int) { members.remove(slot) }

    mutating func setFeatures(_ features: Features, of slot: Int) {
        members[slot].features = features
        noteFeatures(features)
    }

    private mutating func noteFeatures(_ features: Features) {
        if !features.contains(.compact) { hasPlainReaders = true }
    }

    mutating func setAway(_ isAway: Bool, of slot: Int) {
        let before = presence(of: members[slot].who.account)
        members[slot].isAway = isAway
        notePresence(of: slot, from: before)
    }

    /// A member's deduplication window was given to another device.
    mutating func removeWindow(of device: DeviceKey) {
        for slot in slots(of: device.account) where members[slot].who == device { members[slot].window = nil }
    }

    // MARK: Unfinished deliveries

    /// A member has more messages than one step delivers.
    mutating func noteUnfinished(_ slot: Int) {
        members[slot].isUnfinished = true
        unfinished.append(slot)
    }

    /// Takes the members that continue.
    mutating func takeUnfinished() -> [Int] {
        guard !unfinished.isEmpty else { return [] }
        let slots = unfinished
        unfinished = []
        for slot in slots where members.isLive(slot) { members[slot].isUnfinished = false }
        return slots
    }

    // MARK: Presence

    /// The present accounts, as many as `opened` reports, of the first slots.
    func presentAccounts() -> [AccountName] {
        var seen: Set<AccountName> = []
        var result: [AccountName] = []
        for slot in members.slots.prefix(4 * Opened.maxMemberCount) where isPresent(slot) {
            let account = members[slot].who.account
            guard seen.insert(account).inserted else { continue }
            result.append(account)
            if result.count == Opened.maxMemberCount { break }
        }
        if hasRemote {
            result += remote.accounts.filter { seen.insert($0).inserted }.prefix(Opened.maxMemberCount - result.count)
        }
        return result
    }

    /// The presence of an account at all relays, the best of all.
    func presence(of account: AccountName) -> Transient.Presence {
        let presence = localPresence(of: account)
        guard allocatedRemote.isAllocated, presence != .online else { return presence }
        let other = remote.presence(of: account)
        return other == .left ? presence : other
    }

    /// The presence of an account at this relay.
    func localPresence(of account: AccountName) -> Transient.Presence {
        let slots = slots(of: account)
        guard !slots.isEmpty else { return .left }
        return slots.contains { !members[$0].isAway } ? .online : .away
    }

    /// The accounts with members at this relay.
    var localAccounts: [AccountName] {
        Set(slots.filter { isPresent($0) }.map { members[$0].who.account }).sorted()
    }

    /// The accounts whose members have no connection, in ascending order of the slots, those of other relays last.
    var awayAccounts: [AccountName] {
        var seen: Set<AccountName> = []
        let local: [AccountName] = slots.compactMap { slot in
            guard isPresent(slot), members[slot].isAway, seen.insert(members[slot].who.account).inserted else {
                return nil
            }
            return presence(of: members[slot].who.account) == .away ? members[slot].who.account : nil
        }
        guard hasRemote else { return local }
        return local + remote.accounts.filter { !seen.contains($0) && presence(of: $0) == .away }
    }

    private mutating func notePresence(of slot: Int, from before: Transient.Presence) {
        let account = members[slot].who.account
        if busItemByteCount > 0 { remote.noteChange(of: account) }
        notePresence(of: account, from: before, by: members[slot].key)
    }

    private mutating func notePresence(
        of account: AccountName, from before: Transient.Presence, by member: MemberKey
    ) {
        let presence = presence(of: account)
        guard presence != before, reportsPresence else { return }
        presenceChanges.note(account, from: before, to: presence, of: member)
    }

    // MARK: Other relays

    /// The member that is named for changes of other relays, which is none of the room.
    private static let noMember = MemberKey(link: LinkKey(slot: -1, generation: 0, loop: 0), session: .control)

    /// Takes members of another relay.
    mutating func take(_ item: BusMembers, from relay: RelayID, number: UInt64) {
        change(remote.accounts(in: item, from: relay)) { $0.take(item, from: relay, number: number) }
    }

    /// A relay is away.
    mutating func lost(_ relay: RelayID) {
        guard allocatedRemote.isAllocated else { return }
        change(remote.accounts(at: relay)) { $0.remove(relay) }
    }

    private mutating func change(_ accounts: [AccountName], _ body: (inout RemoteMembers) -> Void) {
        let before = accounts.map { presence(of: $0) }
        body(&remote)
        for (account, before) in zip(accounts, before) { notePresence(of: account, from: before, by: Self.noMember) }
    }

    /// Takes the presence changes that are reported now.
    mutating func takePresenceChanges(now: Instant, budget: inout PresenceBudget) -> [PresenceChanges.Change] {
        guard !presenceChanges.isEmpty else { return [] }
        guard reportsPresence else {
            presenceChanges.removeAll()
            presenceReports.removeAll()
            return []
        }
        let changes = presenceChanges.takeBatch(memberCount: count, now: now, budget: &budget)
        for change in changes { presenceReports.note(change.account, now: now) }
        return changes
    }

    /// Reports of presence in memory.
    var reportCount: Int { presenceReports.count }

    /// The accounts whose presence may not have reached a peer whose last bytes were received at an instant.
    func accountsReported(since lastReceived: Instant) -> [AccountName] {
        reportsPresence ? presenceReports.accounts(since: lastReceived) : []
    }

    // MARK: Quiescence

    /// Checks that every member is connected and has received everything.
    func check(_ check: inout QuiescenceCheck, lastOffset: UInt64) {
        check.empty("members with unfinished deliveries", count: unfinished.count)
        if allocatedRemote.isAllocated { remote.check(&check) }
        let live = members.slots.filter { members.isLive($0) }
        check.equal("members", live.count, count)
        let accounts = Set(live.map { members[$0].who.account })
        check.equal("members by account", accounts.reduce(0) { $0 + slots(of: $1).count }, count)
        for slot in live { check.add(members[slot].quiescence(lastOffset: lastOffset)) }
    }
}
