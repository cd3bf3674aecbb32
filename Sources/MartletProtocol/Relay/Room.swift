public import MartletWire

/// What a room wants done outside: frames for sessions and work for the store.
public enum RoomEffect: Sendable {
    /// The session is a member now.
    case opened(MemberKey, handle: MemberHandle, Opened)
    /// The session may not join, or may not stay.
    case reset(MemberKey, ErrorCode)
    /// Nothing more is to be said on a session that its peer has closed.
    case closed(MemberKey)
    /// A reliable frame for a session.
    case send(MemberKey, FrameType, EncodedBody)
    /// Messages for a session, in their order.
    case deliver(MemberKey, ArraySlice<LogEntry>)
    /// A transient frame for a session.
    case sendTransient(MemberKey, EncodedBody)
    /// There is something to tell a session when its link has room; `RoomCall.sendPending` asks for it.
    case pending(MemberKey)
    /// The credit of messages that are stored goes back to who sent them.
    case release(MemberKey, byteCount: Int)
    /// The room is to be loaded; `loaded` or `loadFailed` answers.
    case load(RoomName)
    /// Messages are to be made durable; `stored` or `storeFailed` answers for the room.
    case append(RoomName, [LogEntry])
    /// Messages are to be read; `read` answers with the same member.
    case read(RoomName, MemberHandle, ReadRange)
    /// A request that no member is meant to answer.
    case request(RoomName, MemberHandle, Request)
}

/// A stretch of a log to read.
public struct ReadRange: Equatable, Sendable {
    /// The first offset wanted.
    public var from: UInt64
    /// Messages wanted at the most.
    public var maxCount: Int
    /// Bytes of bodies wanted at the most; one message is always given.
    public var maxByteCount: Int

    /// A stretch that begins at `from`.
    public init(from: UInt64, maxCount: Int, maxByteCount: Int) {
        self.from = from
        self.maxCount = maxCount
        self.maxByteCount = maxByteCount
    }
}

/// A member's slot in a room, for quick finding; a slot that is used again does not answer to an old handle.
public struct MemberHandle: Hashable, Sendable {
    var room: Int32
    var slot: Int32
    var key: MemberKey
    /// The loop that has the room.
    package var loop: UInt8 = 0
}

/// An ordered, numbered log of messages and its members: who may speak, what is accepted, who gets what next.
///
/// States: *loading* (joins wait for the store's snapshot) and *ready*. A message goes posted → appended to the tail
/// with its offset → stored (durable) → published: sent to live members and confirmed to its sender, in this order, so
/// nothing is confirmed or shown that a crash could take back. One append at a time is with the store; what is posted
/// meanwhile makes up the next (group commit; ).
struct Room: Sendable {
    /// Members of one room at the most.
    static let maxMembers = 16_384
    /// Rooms larger than this do not tell every member of every coming and going.
    static let maxPresenceMembers = 256
    /// Accounts whose delivered and read marks one room keeps.
    static let maxMarkedAccounts = 4096
    /// Bytes of bodies that wait to become durable; beyond it the room takes no more.
    static let maxPendingByteCount = 16 * 1024 * 1024

    var name: RoomName
    var index: Int32
    var loop: UInt8
    var isLoading = true
    var isTouched = false
    /// Whether anything has become durable that members have not been offered.
    var hasNews = false
    /// Whether a member joined whose link reads no packets: bodies are summed once for all such.
    private(set) var hasPlainMembers = false

    /// The log's identity, as the store gave it.
    var log: LogID?
    var tail = LogRows(next: 1)
    var first: UInt64 = 1
    /// The highest offset given out, and the highest that is durable.
    var head: UInt64 = 0
    var durable: UInt64 = 0

    var members = SlotTable<RoomMember>()
    var memberCount = 0
    /// The slots of each account's members.
    private var accounts = AccountSlots()
    var marks = DeviceMarks()
    var progress: [AccountName: Progress] = [:]
    var presenceChanges = PresenceChanges()
    var nextCorrelation: UInt64 = 1
    /// What the table of rooms counts for it, in bytes.
    var chargedByteCount = 0
    /// Allocated while anything is under way, and as long as messages are in memory.
    private var allocatedWork = OnDemand<Work>()

    var work: Work {
        @inline(__always) _read { yield allocatedWork.value }
        @inline(__always) _modify { yield &allocatedWork.value }
    }

    /// Whether there is memory for what is under way.
    var isBusy: Bool { allocatedWork.isAllocated }

    /// What is under way in a room.
    struct Work: Neutral, Sendable {
        static let neutral = Work()

        /// Joins that wait for the log to be loaded.
        var waiting: [JoinRequest] = []
        /// What is with the store, and what goes there next; the latest messages may still be in a draft.
        var storing: [LogEntry]?
        var unstored: [LogEntry] = []
        /// Who posted the entries that are not durable yet, in the order of offsets.
        var unconfirmed = Deque<Unconfirmed>()
        var pendingByteCount = 0
        /// Slots of members for whom there is more than they were handed in this turn.
        var unfinished: [Int] = []
        /// Slots of members with acceptances to be told at the end of the turn.
        var posters: [Int] = []
        /// What waits for members until their links ask for it, by slot; and of how many accounts in all.
        var news: [Int: MemberNews] = [:]
        var newsAccountCount = 0
        /// Members that have left and whose sessions stay until their last messages are durable.
        var closing: [Closing] = []
        var requests: [UInt64: RoutedRequest] = [:]
        var requestTimers = TimerQueue<UInt64>()

        var isEmpty: Bool {
            waiting.isEmpty && storing == nil && unstored.isEmpty && unconfirmed.isEmpty && pendingByteCount == 0
                && unfinished.isEmpty && posters.isEmpty && news.isEmpty && newsAccountCount == 0 && closing.isEmpty
                && requests.isEmpty && requestTimers.isEmpty
        }
    }

    /// Gives the memory for what is under way back if nothing is.
    mutating func releaseIdleMemory() {
        if isBusy, work.isEmpty { allocatedWork.release() }
    }

    /// Neighbouring messages that are not durable yet: whose they are.
    struct Unconfirmed: Sendable {
        var count: Int
        var poster: MemberHandle
        /// Who sent them last: that is who waits for the confirmation.
        var confirmTo: MemberHandle
        var mark: Int
        /// How much longer each is than what its poster paid credit for, in bytes.
        var stampByteCount: Int
    }

    /// A session that its peer has closed, and the offset of the last message that it is to be told of.
    struct Closing: Sendable {
        var handle: MemberHandle
        var lastOffset: UInt64
    }

    /// How far an account has come in this room.
    struct Progress: Equatable, Sendable {
        var delivered: UInt64 = 0
        var read: UInt64 = 0
    }

    init(name: RoomName, index: Int32, loop: UInt8 = 0) {
        self.name = name
        self.index = index
        self.loop = loop
    }

    var isIdle: Bool {
        memberCount == 0 && work.waiting.isEmpty && work.unconfirmed.isEmpty && work.closing.isEmpty && !isLoading
    }

    /// When it wants to be flushed although nothing happens.
    var deadline: Instant? { work.requestTimers.earliest.orEarlier(presenceChanges.deadline) }

    func handle(_ slot: Int) -> MemberHandle {
        MemberHandle(room: index, slot: Int32(slot), key: members[slot].key, loop: loop)
    }

    func slot(_ handle: MemberHandle) -> Int? {
        let slot = Int(handle.slot)
        return members.isLive(slot) && members[slot].key == handle.key ? slot : nil
    }

    /// The slots of an account's members that have not left, in the order in which they came.
    func memberSlots(of account: AccountName) -> [Int] { accounts.slots(of: account, in: members) }

    /// Whether a slot has a member that has not left.
    func isPresent(_ slot: Int) -> Bool { members.isLive(slot) && !members[slot].hasLeft }

    var state: Opened { Opened(head: durable, first: first, log: log, members: presentAccounts()) }

    // MARK: Coming and going

    mutating func join(_ join: JoinRequest, into effects: inout Deque<RoomEffect>) {
        guard !isLoading else {
            //
            guard work.waiting.count < Room.maxMembers else { return effects.append(.reset(join.member, .roomFull)) }
            return work.waiting.append(join)
        }
        guard memberCount < Room.maxMembers else { return effects.append(.reset(join.member, .roomFull)) }
        let before = presence(of: join.who.account)
        var member = RoomMember(
            key: join.member, who: join.who, cursor: cursor(of: join.open), noLocal: join.open.noLocal)
        member.mark = marks[join.who]
        member.isHeldBack = join.isHeldBack
        member.features = join.features
        noteForm(of: join.features)
        let slot = members.insert(member)
        memberCount += 1
        accounts.add(slot, to: &members)
        effects.append(.opened(join.member, handle: handle(slot), state))
        sendProgress(to: slot, into: &effects)
        notePresence(of: join.who.account, from: before, by: join.member)
        pump(slot, into: &effects)
    }

    /// Where a session begins that opens so.
    private func cursor(of open: Open) -> UInt64 {
        let isOfAnotherLog = open.log != nil && log != nil && open.log != log
        let cursor = isOfAnotherLog ? 0 : min(open.cursor, durable)
        return open.tail.map { max(cursor, durable - min(durable, UInt64($0))) } ?? cursor
    }

    mutating func leave(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle) else { return }
        withdraw(slot, into: &effects)
        members.remove(slot)
        if !work.closing.isEmpty { work.closing.removeAll { $0.handle == handle } }
    }

    /// A member has said its last: it leaves, and is told of the messages that it is still to be told of before its
    /// session ends (S-7, R-49).
    mutating func close(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle), !members[slot].hasLeft else { return }
        withdraw(slot, into: &effects)
        work.closing.append(Closing(handle: handle, lastOffset: lastUnconfirmedOffset(of: handle)))
    }

    /// The member is no longer there for others; its slot is still its own.
    private mutating func withdraw(_ slot: Int, into effects: inout Deque<RoomEffect>) {
        guard !members[slot].hasLeft else { return }
        cancelRequests(of: handle(slot), into: &effects)
        takeNews(of: slot)
        let account = members[slot].who.account
        let before = presence(of: account)
        members[slot].hasLeft = true
        memberCount -= 1
        accounts.remove(slot, of: account)
        notePresence(of: account, from: before, by: members[slot].key)
    }

    /// The offset of the last message that is not durable and that this member waits to be told of; 0 when there is
    /// none.
    private func lastUnconfirmedOffset(of handle: MemberHandle) -> UInt64 {
        var next = durable + 1
        var last: UInt64 = 0
        for part in work.unconfirmed {
            next += UInt64(part.count)
            if part.confirmTo == handle { last = next - 1 }
        }
        return last
    }

    mutating func setSuspended(_ isSuspended: Bool, _ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle) else { return }
        members[slot].isSuspended = isSuspended
        pump(slot, into: &effects)
    }

    mutating func setHeldBack(_ isHeldBack: Bool, _ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle) else { return }
        members[slot].isHeldBack = isHeldBack
        pump(slot, into: &effects)
    }

    mutating func setFeatures(_ features: Features, _ handle: MemberHandle) {
        guard let slot = slot(handle) else { return }
        members[slot].features = features
        noteForm(of: features)
    }

    private mutating func noteForm(of features: Features) {
        if !features.contains(.compact) { hasPlainMembers = true }
    }

    mutating func setAway(_ isAway: Bool, _ handle: MemberHandle) {
        guard let slot = slot(handle) else { return }
        let account = members[slot].who.account
        let before = presence(of: account)
        members[slot].isAway = isAway
        notePresence(of: account, from: before, by: members[slot].key)
    }

    /// - Parameter now: the relay's wall clock in milliseconds since 1970.
    /// Returns the sessions that have waited to join.
    mutating func loaded(_ snapshot: RoomSnapshot, at now: UInt64 = 0) -> [JoinRequest] {
        guard isLoading else { return [] }
        isLoading = false
        log = snapshot.log
        head = snapshot.head
        durable = snapshot.head
        first = snapshot.first
        tail = LogRows(next: head + 1)
        for (device, watermark) in snapshot.watermarks { marks.load(device, watermark: watermark, at: now) }
        let joins = work.waiting
        work.waiting = []
        return joins
    }

    mutating func loadFailed(into effects: inout Deque<RoomEffect>) {
        for request in work.waiting { effects.append(.reset(request.member, .storeUnavailable)) }
        work.waiting = []
    }

    /// A session that asked to join is gone before the room was loaded.
    mutating func withdraw(_ key: MemberKey) {
        if !work.waiting.isEmpty { work.waiting.removeAll { $0.member == key } }
    }

    // MARK: Presence

    /// Who is there, as far as an answer names them and a look at the first places shows.
    func presentAccounts() -> [AccountName] {
        var seen: Set<AccountName> = []
        var result: [AccountName] = []
        for slot in members.slots.prefix(4 * Opened.maxMemberCount) where isPresent(slot) {
            let account = members[slot].who.account
            guard seen.insert(account).inserted else { continue }
            result.append(account)
            if result.count == Opened.maxMemberCount { break }
        }
        return result
    }

    /// An account is there when one of its members has a connection, and away when all of them wait for one.
    func presence(of account: AccountName) -> Transient.Presence {
        let slots = memberSlots(of: account)
        guard !slots.isEmpty else { return .left }
        return slots.contains { !members[$0].isAway } ? .online : .away
    }

    private mutating func notePresence(of account: AccountName, from before: Transient.Presence, by member: MemberKey) {
        let presence = presence(of: account)
        guard presence != before, memberCount <= Room.maxPresenceMembers else { return }
        presenceChanges.note(account, from: before, to: presence, of: member)
    }

    /// Tells the members who has come and gone since they were told last, as far as a batch goes.
    mutating func tellPresence(now: Instant, into effects: inout Deque<RoomEffect>) {
        guard memberCount <= Room.maxPresenceMembers else { return presenceChanges.removeAll() }
        for change in presenceChanges.takeBatch(memberCount: memberCount, now: now) {
            let presence = presence(of: change.account)
            let body = EncodedBody(Transient(.presence(presence), sender: change.account).encode())
            for other in members.slots where isPresent(other) && members[other].key != change.member {
                guard !members[other].isAway, members[other].features.contains(.presence) else { continue }
                effects.append(.sendTransient(members[other].key, body))
            }
        }
    }

    /// A member's device has a mark from its first message on; nil when its account or the room has as many as it may.
    mutating func mark(ofMember slot: Int, at now: UInt64) -> Int? {
        let device = members[slot].who
        guard let mark = members[slot].mark ?? marks[device] ?? addMark(device, at: now) else { return nil }
        marks.use(mark, at: now)
        members[slot].mark = mark
        return mark
    }

    private mutating func addMark(_ device: DeviceKey, at now: UInt64) -> Int? {
        switch marks.add(device, at: now) {
        case .mark(let mark): return mark
        case .none: return nil
        case .markInPlace(let mark, of: let other):
            for slot in memberSlots(of: other.account) where members[slot].who == other {
                members[slot].mark = nil
            }
            return mark
        }
    }

    // MARK: Frames

    /// A reliable frame for a member; what is on its way to it counts against its credit until it is acknowledged.
    mutating func send(_ type: FrameType, _ body: EncodedBody, to slot: Int, into effects: inout Deque<RoomEffect>) {
        guard members.isLive(slot) else { return }
        members[slot].credit -= body.byteCount
        effects.append(.send(members[slot].key, type, body))
    }
}
