public import MartletWire

/// The rooms of one loop: routes each event to its room and collects what rooms want done.
///
/// Nothing here knows links or connections; a session is a `MemberKey`, and its link may live on another loop.
public struct Rooms: ~Copyable, Sendable {
    /// Rooms in memory at the most; a room without members is let go.
    public static let maxRooms = 65_536

    private let loop: UInt8
    private(set) var rooms = SlotTable<Room>()
    private var indexOfName = SlotIndex()
    private var touched = Deque<Int>()
    private var deadlines = TimerQueue<Int>()
    private var joins = JoinQueue()
    private var effects = Deque<RoomEffect>()
    /// The messages that came last, all of one device to one room.
    private var draft = RoomDraft()
    /// What the rooms hold, in bytes with objects.
    private var chargedByteCount = 0
    /// Rooms in memory at the most, as in `Rooms.maxRooms`.
    var maxRooms = Rooms.maxRooms
    /// Whether the relay has no memory for new rooms and messages.
    var isFull = false

    /// No rooms yet.
    ///
    /// - Parameter loop: the loop's number.
    public init(loop: UInt8 = 0) {
        self.loop = loop
    }

    /// Rooms in memory.
    public var count: Int { indexOfName.count }

    /// When `deadlinePassed` wants to be called; a time that has passed while sessions wait to join.
    public var deadline: Instant? { joins.isEmpty ? deadlines.earliest : .zero }

    /// The next thing to do; nil when there is none until the next event.
    ///
    /// Rooms end their turn one by one: what one wants done is taken before the next fills the links' queues further.
    public mutating func nextEffect(now: Instant) -> RoomEffect? {
        while true {
            if let effect = effects.popFirst() { return effect }
            guard let index = touched.popFirst() else { return nil }
            flush(index, now: now)
        }
    }

    /// All that a turn has brought is done: in the next one so many sessions may join again.
    public mutating func endTurn() {
        joins.endTurn()
    }

    /// A session wants to be a member.
    public mutating func join(_ join: JoinRequest) {
        if joins.admits() { enter(join) } else { joins.append(join) }
    }

    private mutating func enter(_ join: JoinRequest) {
        if let index = index(of: join.open.room) {
            rooms[index].join(join, into: &effects)
            return touch(index)
        }
        guard count < maxRooms, !isFull else { return effects.append(.reset(join.member, .serverBusy)) }
        var room = Room(name: join.open.room, index: Int32(rooms.nextSlot), loop: loop)
        room.join(join, into: &effects)
        let index = rooms.insert(room)
        indexOfName.insert(join.open.room, index)
        effects.append(.load(join.open.room))
    }

    /// A session that asked to join gave up before it was a member.
    public mutating func withdraw(_ key: MemberKey, from name: RoomName) {
        guard !joins.withdraw(key), let index = index(of: name) else { return }
        rooms[index].withdraw(key)
        touch(index)
    }

    /// The store's answer to `load`; nil when it could not.
    ///
    /// - Parameter now: the relay's wall clock in milliseconds since 1970.
    public mutating func loaded(_ name: RoomName, _ snapshot: RoomSnapshot?, at now: UInt64 = 0) {
        guard let index = index(of: name) else { return }
        if let snapshot {
            // Those that began the load have had their turn; of many, the others wait for one more.
            for (number, request) in rooms[index].loaded(snapshot, at: now).enumerated() {
                if number < JoinQueue.maxPerTurn { enter(request) } else { joins.append(request) }
            }
        } else {
            rooms[index].loadFailed(into: &effects)
            drop(index)
        }
        touch(index)
    }

    /// The store's answer to `append`; nil when it could not.
    public mutating func stored(_ name: RoomName, upTo offset: UInt64?) {
        guard let index = index(of: name) else { return }
        if draft.room == Int32(index) { closeDraft() }
        if let offset {
            rooms[index].stored(upTo: offset, into: &effects)
        } else {
            rooms[index].storeFailed(into: &effects)
        }
        touch(index)
    }

    /// The store's answer to `append` when it no longer has the room's log: all are reset, and who opens the room again
    /// has it loaded anew.
    public mutating func logLost(_ name: RoomName) {
        guard let index = index(of: name) else { return }
        if draft.room == Int32(index) { closeDraft() }
        rooms[index].logLost(into: &effects)
        drop(index)
    }

    /// The store's answer to `read`; nil when it could not. `first` is the lowest offset the store keeps.
    public mutating func read(_ handle: MemberHandle, _ entries: [LogEntry]?, first: UInt64) {
        with(handle) { $0.read(handle, entries, first: first, into: &$1) }
    }

    /// How far a member's room is, and who is in it; nil when the member is gone.
    public func state(of handle: MemberHandle) -> Opened? {
        let index = Int(handle.room)
        guard rooms.isLive(index), rooms[index].slot(handle) != nil else { return nil }
        return rooms[index].state
    }

    /// The room that a member is in; nil when the member is gone.
    mutating func name(of handle: MemberHandle) -> RoomName? {
        let index = Int(handle.room)
        return rooms.isLive(index) && rooms[index].slot(handle) != nil ? rooms[index].name : nil
    }

    /// A member leaves.
    public mutating func leave(_ handle: MemberHandle) {
        with(handle) { $0.leave(handle, into: &$1) }
    }

    /// A member has said its last, and leaves; `closed` follows when there is nothing more to tell it.
    public mutating func close(_ handle: MemberHandle) {
        guard rooms.isLive(Int(handle.room)) else { return effects.append(.closed(handle.key)) }
        // Its last messages may still be in the draft.
        if draft.room == handle.room { closeDraft() }
        with(handle) { $0.close(handle, into: &$1) }
    }

    /// A member asks to hold back, or to go on from `cursor`.
    public mutating func setSuspended(_ isSuspended: Bool, _ handle: MemberHandle, cursor: UInt64? = nil) {
        with(handle) {
            $0.seek(handle, to: cursor)
            $0.setSuspended(isSuspended, handle, into: &$1)
        }
    }

    /// A member's link has enough on its way, or has room again.
    public mutating func setHeldBack(_ isHeldBack: Bool, _ handle: MemberHandle) {
        with(handle) { $0.setHeldBack(isHeldBack, handle, into: &$1) }
    }

    /// A member's link has agreed on other features.
    public mutating func setFeatures(_ features: Features, _ handle: MemberHandle) {
        with(handle) { room, _ in room.setFeatures(features, handle) }
    }

    /// A member's link lost its connection, or has one again.
    public mutating func setAway(_ isAway: Bool, _ handle: MemberHandle) {
        with(handle) { room, _ in room.setAway(isAway, handle) }
    }

    /// A member's message, which is borrowed.
    public mutating func publish(_ handle: MemberHandle, _ message: ClientMessage, acceptedAt: UInt64) {
        let index = Int(handle.room)
        guard rooms.isLive(index) else {
            return effects.append(.release(handle.key, byteCount: message.byteCount))  // S-38
        }
        if draft.room != handle.room { closeDraft() }
        if isFull {
            rooms[index].refusePost(handle, credit: message.byteCount, into: &effects)
        } else {
            rooms[index].publish(handle, message, acceptedAt: acceptedAt, draft: &draft, into: &effects)
        }
        touch(index)
    }

    /// A member's session has room for this many more bytes.
    public mutating func credit(_ handle: MemberHandle, byteCount: Int) {
        with(handle) { $0.credit(handle, byteCount: byteCount, into: &$1) }
    }

    /// A member has taken or read messages.
    public mutating func progressed(_ handle: MemberHandle, _ progress: Receipt.Progress) {
        with(handle) { $0.progressed(handle, progress, into: &$1) }
    }

    /// A member's typing and the like.
    public mutating func broadcast(_ handle: MemberHandle, _ transient: Transient) {
        with(handle) { $0.broadcast(handle, transient, into: &$1) }
    }

    /// A member's request.
    public mutating func request(_ handle: MemberHandle, _ request: Request, now: Instant) {
        with(handle) { $0.request(handle, request, now: now, into: &$1) }
    }

    /// An answer: a member's, or with a nil `from` the relay's own, to a request that came from `handle`.
    public mutating func respond(_ handle: MemberHandle, _ response: Response, isRelay: Bool = false) {
        with(handle) { $0.respond(isRelay ? nil : handle, response, into: &$1) }
    }

    /// A member no longer waits for an answer.
    public mutating func cancel(_ handle: MemberHandle, correlation: UInt64) {
        with(handle) { $0.cancel(handle, correlation, into: &$1) }
    }

    /// A member's link has room for some of what there is to tell it.
    public mutating func sendPending(_ handle: MemberHandle) {
        with(handle) { $0.sendPending(handle, into: &$1) }
    }

    /// Acts on the deadlines that have passed.
    public mutating func deadlinePassed(now: Instant) {
        while let join = joins.popFirst() { enter(join) }
        while let index = deadlines.popExpired(now: now) {
            guard rooms.isLive(index) else { continue }
            rooms[index].expireRequests(now: now, into: &effects)
            touch(index)
        }
    }

    // MARK: Memory

    /// Lets rooms go of messages that the store has until so many bytes are free, or there are none.
    mutating func trimTails(byteCount: Int) {
        var freed = 0
        for index in rooms.slots where rooms.isLive(index) && !rooms[index].tail.isEmpty && freed < byteCount {
            rooms[index].trimTail()
            freed -= rooms[index].takeChargeChange()
        }
        chargedByteCount -= freed
    }

    /// What the rooms hold, in bytes with objects.
    var memoryByteCount: Int { chargedByteCount }

    /// Whether there is no place for one more room.
    var isCrowded: Bool { count >= maxRooms }

    private mutating func with(_ handle: MemberHandle, _ change: (inout Room, inout Deque<RoomEffect>) -> Void) {
        let index = Int(handle.room)
        guard rooms.isLive(index) else { return }
        change(&rooms[index], &effects)
        touch(index)
    }

    private mutating func index(of name: RoomName) -> Int? {
        indexOfName.find(name) { rooms[$0].name == name }
    }

    private mutating func closeDraft() {
        if let room = draft.room { rooms[Int(room)].take(&draft) }
    }

    private mutating func touch(_ index: Int) {
        guard rooms.isLive(index), !rooms[index].isTouched else { return }
        rooms[index].isTouched = true
        touched.append(index)
    }

    private mutating func flush(_ index: Int, now: Instant) {
        guard rooms.isLive(index) else { return }
        if draft.room == Int32(index) { closeDraft() }
        rooms[index].isTouched = false
        rooms[index].flush(now: now, into: &effects)
        chargedByteCount += rooms[index].takeChargeChange()
        deadlines.set(index, at: rooms[index].deadline)
        if rooms[index].isIdle { return drop(index) }
        if !rooms[index].work.unfinished.isEmpty { touch(index) }
    }

    private mutating func drop(_ index: Int) {
        guard rooms.isLive(index) else { return }
        chargedByteCount -= rooms[index].chargedByteCount
        indexOfName.remove(rooms[index].name, index)
        deadlines.cancel(index)
        rooms.remove(index)
    }

    /// Checks that no room has unfinished work.
    func check(_ check: inout QuiescenceCheck) {
        for index in rooms.slots {
            if let room = rooms.find(index) { check.add(room.quiescence()) }
        }
    }
}
