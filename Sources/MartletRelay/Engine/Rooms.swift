import MartletLink
import MartletWire

/// The rooms of one loop: passes each event to its room and collects the effects.
///
/// Rooms do not access links and connections. A session is a `MemberKey`, and its link may be on another loop.
///
/// | state of a room | owns | ends |
/// |---|---|---|
/// | in memory | a slot, a deadline, its bytes | it is idle; the store failed to load it or has lost its log |
/// | dirty | an entry in the order of the turn | `nextEffect` |
struct Rooms: ~Copyable, Sendable {
    /// The maximum number of rooms in memory; a room without members is evicted.
    static let maxRooms = 65_536

    private let place: LoopPlace
    /// The use of roles; nil if rooms have none.
    private let roles: RoomRolesConfiguration?
    /// The rate of messages of each room; nil without a bound.
    private let rate: MessageRate?
    /// The duration until messages are reported as undelivered; nil if they are not.
    private let undeliveredDelay: Duration?
    /// The relay's wall clock in milliseconds since 1970.
    var wallClock: UInt64 = 0
    private(set) var rooms = SlotTable<RelayRoom>()
    private var indexOfName = SlotIndex()
    private var dirty = Deque<Int>()
    private var deadlines = TimerQueue<Int>()
    private var joins = JoinQueue()
    private var presence = PresenceBudget()
    private var effects = Deque<RoomEffect>()
    /// The batch under construction of the last publisher.
    private var batch = RoomBatch()
    /// The accounts that watch rooms of this loop.
    private(set) var watchers = RoomWatchers()
    /// Bytes of the rooms, with objects, as of the last step of each.
    private(set) var memoryByteCount = 0
    /// The maximum number of rooms in memory, as in `Rooms.maxRooms`.
    var maxRooms = Rooms.maxRooms
    /// Whether new rooms and messages are refused for lack of memory.
    var isFull = false

    /// The rooms that cannot be loaded yet.
    private var removed = RemovedRooms()
    /// The comparison of the rooms with a store that other relays use, too; nil with a store of this relay alone.
    private var checks: ReplicaChecks?
    /// What the rooms ask the other relays of the bus; nil without a bus.
    private var bus: BusRooms?
    /// The batches of other relays that the copies of rooms have taken.
    private(set) var replicated = ReplicatedBatches()

    /// Creates a table without rooms.
    ///
    /// - Parameters:
    ///   - place: the place of the loop.
    ///   - isShared: whether other relays use the rooms of the store, too.
    ///   - roles: the use of roles; nil if rooms have none.
    ///   - rate: the rate of messages of each room; nil without a bound.
    ///   - undeliveredDelay: the duration until messages are reported as undelivered; nil if they are not.
    ///   - busItemByteCount: the bytes of a datagram of the bus; nil without a bus.
    init(
        place: LoopPlace = .only, isShared: Bool = false, roles: RoomRolesConfiguration? = nil,
        rate: MessageRate? = nil, undeliveredDelay: Duration? = nil, busItemByteCount: Int? = nil
    ) {
        self.place = place
        checks = isShared ? ReplicaChecks() : nil
        self.roles = roles
        self.rate = rate
        self.undeliveredDelay = undeliveredDelay
        bus = busItemByteCount.map { BusRooms(maxItemByteCount: $0) }
    }

    /// Rooms in memory.
    package var count: Int { indexOfName.count }

    /// Whether the number of rooms has reached its maximum.
    var hasMaxRooms: Bool { count >= maxRooms }

    // MARK: Outputs

    /// The instant at which `deadlinePassed` is due; in the past while sessions wait to join.
    var deadline: Instant? {
        guard joins.isEmpty else { return .zero }
        return deadlines.earliest.orEarlier(count > 0 ? checks?.deadline : nil).orEarlier(bus?.deadline)
    }

    /// The next effect; nil when there is none until the next event.
    ///
    /// Rooms end their turn one by one: the effects of one are taken before the next one fills the links' queues.
    mutating func nextEffect(now: Instant) -> RoomEffect? {
        while true {
            if let effect = effects.popFirst() { return effect }
            guard let index = dirty.popFirst() else { return nil }
            flush(index, now: now)
        }
    }

    /// Ends the turn. Further sessions may join in the next one.
    mutating func endTurn() {
        joins.endTurn()
        presence.endTurn()
    }

    /// Acts on the deadlines that have passed.
    mutating func deadlinePassed(now: Instant) {
        while let join = joins.popFirst() { enter(join) }
        while let index = deadlines.popExpired(now: now) {
            guard rooms.isLive(index) else { continue }
            rooms[index].expireRequests(now: now, into: &effects)
            markDirty(index)
        }
        checkReplicas(now: now)
        askForMembers(now: now)
    }

    // MARK: Calls of links

    /// Passes the call of a link to its room.
    mutating func receive(_ call: RoomCall, now: Instant = .zero) {
        switch call {
        case .join(let join): if joins.admits() { enter(join) } else { joins.append(join) }
        case .withdraw(let key, let name):
            guard !joins.withdraw(key), let index = index(of: name) else { return }
            rooms[index].withdraw(key)
        case .leave(let handle): with(handle) { $0.leave(handle, into: &$1) }
        case .close(let handle):
            guard rooms.isLive(Int(handle.room)) else { return effects.append(.closed(handle.key)) }
            // The batch may contain messages of the member.
            closeBatch(of: Int(handle.room))
            with(handle) { $0.close(handle, into: &$1) }
        case .setSuspended(let handle, let isSuspended, let cursor):
            with(handle) { $0.setSuspended(isSuspended, handle, cursor: cursor, into: &$1) }
        case .setBacklogged(let handle, let isBacklogged):
            with(handle) { $0.setBacklogged(isBacklogged, handle, into: &$1) }
        case .setFeatures(let handle, let features): with(handle) { room, _ in room.setFeatures(features, handle) }
        case .disconnected(let handle): with(handle) { $0.disconnected(handle, into: &$1) }
        case .reconnected(let handle, let lastReceived):
            with(handle) { $0.reconnected(handle, lastReceived: lastReceived, into: &$1) }
        case .setPermissions(let handle, let permissions):
            // The later messages of the batch are decided about anew.
            if rooms.isLive(Int(handle.room)) { closeBatch(of: Int(handle.room)) }
            with(handle) { $0.setPermissions(permissions, handle, into: &$1) }
        case .sendPending(let handle): with(handle) { $0.sendPending(handle, into: &$1) }
        case .publish(let handle, let counter, let body, let layout, let acceptedAt):
            let message = ClientMessage(counter: counter, body: body.rawBytes, layout: layout)
            publish(handle, message, acceptedAt: acceptedAt)
        case .credit(let handle, let byteCount): credit(handle, byteCount: byteCount)
        case .progressed(let handle, let receipt): with(handle) { $0.progressed(handle, receipt, into: &$1) }
        case .broadcast(let handle, let transient):
            let wallClock = wallClock
            with(handle) { $0.broadcast(handle, transient, at: wallClock, into: &$1) }
        case .request(let handle, let request):
            let wallClock = wallClock
            with(handle) { $0.request(handle, request, at: wallClock, now: now, into: &$1) }
        case .attachment(let handle, let correlation, let request, let creditByteCount):
            guard rooms.isLive(Int(handle.room)) else {
                return effects.append(.release(handle.key, byteCount: creditByteCount))  // S-38
            }
            let wallClock = wallClock
            with(handle) {
                $0.requestAttachment(
                    handle, correlation, request, creditByteCount: creditByteCount, at: wallClock, into: &$1)
            }
        case .respond(let handle, let response): with(handle) { $0.respond(handle, response, into: &$1) }
        case .cancel(let handle, let correlation): with(handle) { $0.cancel(handle, correlation, into: &$1) }
        case .membership(let call): receive(call)
        case .watch(let call): watch(call)
        case .command(let call): receive(call)
        }
    }

    /// A member's message, which is borrowed.
    mutating func publish(_ handle: MemberHandle, _ message: ClientMessage, acceptedAt: UInt64) {
        let index = Int(handle.room)
        guard rooms.isLive(index) else {
            return effects.append(.release(handle.key, byteCount: message.byteCount))  // S-38
        }
        if let room = batch.room, room != handle.room { closeBatch(of: Int(room)) }
        if isFull {
            rooms[index].reject(handle, message.byteCount, .serverBusy, into: &effects)
        } else {
            rooms[index].publish(handle, message, acceptedAt: acceptedAt, batch: &batch, into: &effects)
        }
        markDirty(index)
    }

    /// A member's link has acknowledged frames.
    mutating func credit(_ handle: MemberHandle, byteCount: Int) {
        with(handle) { $0.credit(handle, byteCount: byteCount, into: &$1) }
    }

    private mutating func enter(_ join: JoinRequest) {
        if let index = index(of: join.open.room) {
            if checks == nil || !rooms[index].awaitMessages(join) { rooms[index].join(join, into: &effects) }
            return markDirty(index)
        }
        guard let index = insert(join.open.room) else { return effects.append(.reset(join.member, .serverBusy)) }
        rooms[index].join(join, into: &effects)
    }

    /// Adds a room and loads it; nil if there is no memory for it, or if it cannot be loaded yet.
    private mutating func insert(_ name: RoomName) -> Int? {
        guard !hasMaxRooms, !isFull, !removed.contains(name) else { return nil }
        var room = RelayRoom(name: name, index: Int32(rooms.nextSlot), loop: place.number)
        room.isWatched = watchers.isWatched(name)
        room.members.busItemByteCount = bus?.maxItemByteCount ?? 0
        let index = rooms.insert(room)
        indexOfName.insert(name, index)
        effects.append(.store(.load(name)))
        return index
    }

    /// A command of the relay's application, for which the room is loaded.
    private mutating func receive(_ call: RoomCommandCall) {
        guard let index = index(of: call.room) ?? insert(call.room) else {
            return effects.append(.commandEnded(call.id, .failure(.busy)))
        }
        rooms[index].receive(call, into: &effects)
        markDirty(index)
    }

    /// Performs the commands of a room that wait.
    private mutating func performCommands(_ index: Int) {
        if let room = batch.room { closeBatch(of: Int(room)) }
        rooms[index].performCommands(at: wallClock, batch: &batch, into: &effects)
    }

    // MARK: Memberships

    /// A request about a membership record, for which the room is loaded.
    private mutating func receive(_ call: MembershipCall) {
        guard let index = index(of: call.room) ?? insert(call.room) else {
            let response = Response(correlation: call.number, status: .serverBusy)
            return effects.append(.answered(call.caller, response))
        }
        rooms[index].receive(call, into: &effects)
        markDirty(index)
    }

    /// The result of `saveMemberships`: the accounts with the maximum number of records, whose changes were not saved;
    /// nil when the store failed.
    mutating func membershipsSaved(_ name: RoomName, refused: Set<AccountName>?) {
        guard let index = index(of: name) else { return }
        let changes = rooms[index].membershipsSaved(refused: refused, into: &effects)
        for (account, record) in changes.sorted(by: { $0.key < $1.key }) {
            setWatch(of: account, record != nil, name, index)
            let change = RoomChange(
                account: account, progress: rooms[index].receipts[account] ?? AccountProgress(),
                isWatched: record != nil)
            effects.append(.changed(loop: place.loop(of: account), name, [change]))
            if bus != nil { effects.append(.bus(BusMessage(.membership(BusMembership(name, account, record))))) }
        }
        watchRecords(index)
        markDirty(index)
    }

    /// An account watches rooms from now on, or no longer. A room in memory may have progress that the store has not.
    private mutating func watch(_ call: WatchCall) {
        for name in call.rooms {
            let index = index(of: name)
            setWatch(of: call.account, call.isWatching, name, index)
            guard call.isWatching, let index, rooms[index].receipts.isUnsaved(call.account) else { continue }
            rooms[index].changes.note(call.account)
            markDirty(index)
        }
        if call.isLast { effects.append(.watched(loop: place.loop(of: call.account), call.account, by: place.index)) }
    }

    private mutating func setWatch(of account: AccountName, _ isWatching: Bool, _ name: RoomName, _ index: Int?) {
        if isWatching {
            watchers.insert(account, name)
            if let index { rooms[index].setWatched(true) }
        } else if !watchers.remove(account, name), let index {
            rooms[index].setWatched(bus != nil && rooms[index].hasRecords)
        }
    }

    /// Changes of a room with records are reported to the other relays of the bus, at which accounts may watch it.
    private mutating func watchRecords(_ index: Int) {
        if bus != nil, rooms[index].hasRecords { rooms[index].setWatched(true) }
    }

    /// Reports what has changed in a room to the loops of the accounts that watch it.
    private mutating func reportChanges(_ index: Int, now: Instant) {
        let (name, lastOffset) = (rooms[index].name, rooms[index].log.lastOffset)
        let accounts: [AccountName]
        let erasures = rooms[index].changes.takeErasures()
        let isLast = rooms[index].isIdle || !erasures.isEmpty
        if bus != nil, rooms[index].changes.isDue(lastOffset, isLast: isLast, now: now), rooms[index].hasRecords,
            rooms[index].changes.takeOwn(lastOffset)
        {
            effects.append(.bus(BusMessage(.changed(name))))
        }
        switch rooms[index].changes.take(lastOffset, isLast: isLast, now: now) {
        case .none: return
        case .some(let some): accounts = some.filter { watchers.watches($0, name) }
        case .all: accounts = watchers.watchers(of: name)
        }
        reportChange(
            of: name, to: accounts.map { ($0, rooms[index].receipts[$0] ?? AccountProgress()) }, erased: erasures)
    }

    private mutating func reportChange(
        of name: RoomName, to accounts: [(AccountName, AccountProgress)], erased erasures: [MessageErasure] = []
    ) {
        var changes: [Int: [RoomChange]] = [:]
        for (account, progress) in accounts {
            changes[place.loop(of: account), default: []].append(
                RoomChange(account: account, progress: progress, isWatched: true))
        }
        for (loop, changes) in changes.sorted(by: { $0.key < $1.key }) {
            effects.append(.changed(loop: loop, name, changes, erased: erasures))
        }
    }

    // MARK: Results

    /// The answer of the store to a question of a room.
    mutating func answered(_ answer: StoreAnswer, at now: UInt64) {
        guard removed.isEmpty || !removed.take(answer) else { return }
        switch answer {
        case .load(let room, let result): loaded(room, try? result.get(), at: now)
        case .append(let room, let offset, _, .success(let first)): stored(room, upTo: offset, first: first)
        case .append(let room, _, _, .failure(.logLost)): logLost(room, answered: .append)
        case .append(let room, _, _, .failure(.conflict(let history))):
            replicate(room, answered: .append) { $0.conflicted(history, at: now, into: &$1) }
        case .append(let room, _, _, .failure(.rolesChanged)):
            replicate(room) {
                $0.rolesChanged(into: &$1)
                return true
            }
        case .append(let room, _, _, .failure): stored(room, upTo: nil)
        case .read(let room, let id, .failure(.logLost)):
            if id.member.slot < 0 { logLost(room, answered: .read) } else if isMember(id.member) { logLost(room) }
        case .read(let room, let id, let result) where id.member.slot < 0:
            replicate(room, answered: .read) { $0.missedRead(try? result.get(), at: now, into: &$1) }
        case .read(_, let id, let result):
            let history = try? result.get()
            read(id, history?.entries, first: history?.firstOffset ?? 1)
        case .saveRoles(let room, let result): rolesSaved(room, RolesResult(result))
        case .saveMemberships(let room, let result): membershipsSaved(room, refused: try? result.get())
        case .changes(let result):
            checks?.ended()
            for found in (try? result.get()) ?? [] { changed(found) }
        case .saveRetention(let room, let bounds, let result):
            guard let index = index(of: room) else { return }
            rooms[index].retentionSaved((try? result.get()).map { bounds }, into: &effects)
            markDirty(index)
        case .saveProgress, .readMemberships, .touch: break
        }
    }

    // MARK: Other relays

    /// The store has other state of a room, because of another relay.
    mutating func changed(_ found: RoomRevision) {
        replicate(found.room) { $0.noteChange(found, into: &$1) }
    }

    /// Compares the next rooms with the store, if it is time.
    private mutating func checkReplicas(now: Instant) {
        guard let place = checks?.begin(now: now) else { return }
        let page = TablePage.slots(rooms.slots, from: place, limit: RoomRevision.maxCount) {
            rooms.isLive($0) && rooms[$0].members.count > 0
        }
        let revisions = page.slots.compactMap { rooms[$0].revision }
        checks?.began(next: page.next, isCalling: !revisions.isEmpty, now: now)
        if !revisions.isEmpty { effects.append(.store(.changes(since: revisions))) }
    }

    /// An event of the bus.
    mutating func busReceived(_ event: BusPeers.Event, now: Instant) {
        switch event {
        case .incomplete(let relay, let number): bus?.noteIncomplete(relay, before: number, now: now)
        case .lost(let relay):
            bus?.remove(relay)
            for index in rooms.slots where rooms.isLive(index) {
                rooms[index].lost(relay, into: &effects)
                markDirty(index)
            }
        case .item(let item, let relay, let number): take(item, from: relay, number: number, now: now)
        case .command, .nameShared, .fault: break
        }
    }

    private mutating func take(_ item: BusItem, from relay: RelayID, number: UInt64, now: Instant) {
        switch item {
        case .wanted(let names):
            for name in names where place.loop(of: name) == place.index { answerMembers(of: name, to: relay, now: now) }
        case .members(let members):
            if let index = with(members.room, { $0.take(members, from: relay, number: number, into: &$1) }) {
                return markDirty(index)
            }
            // The progress of an account changes its list, also while the room is not in memory.
            let watching = members.entries.filter { watchers.watches($0.account, members.room) }
            reportChange(of: members.room, to: watching.map { ($0.account, $0.progress) })
        case .transient(let name, let transient): with(name) { $0.broadcast(transient, into: &$1) }
        case .request(let name, let request):
            guard with(name, { $0.request(request, from: relay, now: now, into: &$1) }) == nil else { return }
            let response = Response(correlation: request.correlation, status: .noRecipient)
            effects.append(.bus(BusMessage(.response(name, response), to: relay)))
        case .response(let name, let response): with(name) { $0.respond(response, from: relay, into: &$1) }
        case .cancel(let name, let cancel): with(name) { $0.cancel(cancel.correlation, from: relay, into: &$1) }
        case .changed(let name):
            // A room with members notices the messages itself.
            if let index = index(of: name), rooms[index].members.count > 0 { return }
            reportChange(of: name, to: watchers.watchers(of: name).map { ($0, AccountProgress()) })
        case .membership(let membership): membershipChanged(membership)
        case .entries(let entries): with(entries.room) { room, _ in room.receive(entries, from: relay) }
        case .forwarded(let entries, let counter): forwarded(entries, after: counter, from: relay)
        case .beat, .command, .performed, .linked: break
        }
    }

    /// Messages of a different relay, which this one is to append.
    private mutating func forwarded(_ item: BusEntries, after counter: UInt64, from relay: RelayID) {
        guard !isFull, let index = index(of: item.room) else { return }
        closeBatch(of: index)
        rooms[index].receive(forwarded: item, after: counter, from: relay, at: wallClock)
        markDirty(index)
    }

    @discardableResult
    private mutating func with(
        _ name: RoomName, _ change: (inout RelayRoom, inout Deque<RoomEffect>) -> Void
    ) -> Int? {
        guard let index = index(of: name) else { return nil }
        change(&rooms[index], &effects)
        markDirty(index)
        return index
    }

    /// Another relay has members in a room.
    private mutating func answerMembers(of name: RoomName, to relay: RelayID, now: Instant) {
        guard bus?.mayAnswer(now: now) == true else { return }
        guard with(name, { $0.answerMembers(to: relay, into: &$1) }) == nil else { return }
        effects.append(.bus(BusMessage(noMembers(of: name), to: relay)))
    }

    private func noMembers(of name: RoomName) -> BusItem {
        .members(BusMembers(room: name, count: 0, isWhole: true, entries: []))
    }

    /// Another relay has saved a changed record.
    private mutating func membershipChanged(_ change: BusMembership) {
        let index = index(of: change.room)
        if let index {
            rooms[index].membershipChanged(change.account, change.record)
            watchRecords(index)
            markDirty(index)
        }
        setWatch(of: change.account, change.record != nil, change.room, index)
        let progress = index.flatMap { rooms[$0].receipts[change.account] } ?? AccountProgress()
        let report = RoomChange(account: change.account, progress: progress, isWatched: change.record != nil)
        effects.append(.changed(loop: place.loop(of: change.account), change.room, [report]))
    }

    /// Asks for the members of rooms whose items may be lost, if it is time.
    private mutating func askForMembers(now: Instant) {
        guard let bus, let first = bus.begin(now: now) else { return }
        let page = TablePage.slots(rooms.slots, from: first, limit: BusRooms.maxAskCount) {
            rooms.isLive($0) && rooms[$0].members.count > 0 && !rooms[$0].members.remote.isComplete(bus.relays)
        }
        self.bus?.asked(page.slots.count, next: page.next, now: now)
        var names = page.slots.map { rooms[$0].name }[...]
        while !names.isEmpty {
            effects.append(.bus(BusMessage(.wanted(Array(names.prefix(BusItem.maxRoomCount))))))
            names = names.dropFirst(BusItem.maxRoomCount)
        }
    }

    /// Reports changed members of a room to the other relays.
    private mutating func reportMembers(_ index: Int, now: Instant) {
        guard let relays = bus?.relays, rooms[index].revision != nil else { return }
        if rooms[index].reportMembers(to: relays, now: now, into: &effects) { bus?.ask(now: now) }
    }

    /// Passes an event of the store or of another relay to a room in memory. The room is loaded again if its copy of
    /// the log cannot continue.
    private mutating func replicate(
        _ name: RoomName, answered call: RemovedRooms.Call? = nil,
        _ change: (inout RelayRoom, inout Deque<RoomEffect>) -> Bool
    ) {
        guard let index = index(of: name) else { return }
        closeBatch(of: index)
        let end = rooms[index].log.lastOffset
        guard change(&rooms[index], &effects) else { return logLost(name, answered: call) }
        if rooms[index].log.lastOffset > end { replicated.fromStore += 1 }
        markDirty(index)
    }

    /// The roles of a room that is in memory, which another relay has changed; nil when the store failed.
    private mutating func rolesLoaded(_ index: Int, _ snapshot: RoomSnapshot?, at now: UInt64) {
        let name = rooms[index].name
        guard let snapshot, snapshot.log == rooms[index].log.id else { return logLost(name, answered: .load) }
        do throws(RoomRolesError) {
            let found = try snapshot.roles.map { bytes throws(RoomRolesError) in try RoomRoles(decoding: bytes) }
            replicate(name, answered: .load) { room, _ in
                room.rolesLoaded(found, version: snapshot.rolesVersion, upTo: snapshot.lastOffset)
            }
        } catch {
            effects.append(.note(.rolesInvalid(name, error), of: nil))
            logLost(name, answered: .load)
        }
    }

    /// The result of `load`; nil when the store failed.
    ///
    /// - Parameter now: the relay's wall clock in milliseconds since 1970.
    mutating func loaded(_ name: RoomName, _ snapshot: RoomSnapshot?, at now: UInt64 = 0) {
        guard let index = index(of: name) else { return }
        guard rooms[index].revision == nil else {
            // A repeated answer has no effect.
            if rooms[index].replica.isLoading { rolesLoaded(index, snapshot, at: now) }
            return
        }
        if let snapshot, mayServe(snapshot), beginRoles(index, snapshot) {
            let waiting = rooms[index].loaded(snapshot, at: now)
            rooms[index].beginMemberships(snapshot.memberships)
            watchRecords(index)
            enter(rooms[index].admitted(waiting, into: &effects))
        } else {
            rooms[index].loadFailed(into: &effects)
            remove(index)
        }
        markDirty(index)
    }

    /// Whether the relay may serve a room. One without roles does not serve rooms to which another relay of the store
    /// gives roles.
    private func mayServe(_ snapshot: RoomSnapshot) -> Bool {
        checks == nil || roles != nil || snapshot.rolesVersion == 0
    }

    /// Takes the roles of a snapshot; false if they are not valid.
    private mutating func beginRoles(_ index: Int, _ snapshot: RoomSnapshot) -> Bool {
        guard let roles else { return true }
        do throws(RoomRolesError) {
            try rooms[index].beginRoles(roles, snapshot)
            return true
        } catch {
            effects.append(.note(.rolesInvalid(rooms[index].name, error), of: nil))
            return false
        }
    }

    /// Sessions that have waited for their room join it. The first ones were admitted in their turn; the rest of many
    /// waits for a later turn.
    private mutating func enter(_ waiting: [JoinRequest]) {
        for (number, join) in waiting.enumerated() {
            if number < JoinQueue.maxPerTurn { enter(join) } else { joins.append(join) }
        }
    }

    /// The result of `saveRoles`.
    mutating func rolesSaved(_ name: RoomName, _ result: RolesResult) {
        guard let index = index(of: name) else { return }
        closeBatch(of: index)
        let isUnknown = result == .failed && rooms[index].isUncreated
        enter(rooms[index].rolesSaved(result, isShared: checks != nil, into: &effects))
        // The next session loads the room, which the store may have created.
        if isUnknown { remove(index) }
        markDirty(index)
    }

    /// Performs the operations of a room that wait.
    private mutating func performOperations(_ index: Int, now: Instant) {
        if let room = batch.room { closeBatch(of: Int(room)) }
        rooms[index].performOperations(
            isShared: checks != nil, at: wallClock, now: now, batch: &batch, into: &effects)
    }

    /// The result of `append`; nil when the store failed.
    mutating func stored(_ name: RoomName, upTo offset: UInt64?, first: UInt64 = 1) {
        guard let index = index(of: name) else { return }
        closeBatch(of: index)
        if let offset {
            let end = undeliveredDelay.map { _ in rooms[index].log.lastOffset }
            rooms[index].stored(upTo: offset, first: first, into: &effects)
            if let end { rooms[index].noteStored(after: end) }
        } else {
            rooms[index].storeFailed(into: &effects)
        }
        markDirty(index)
    }

    /// The store has lost the room's log, or the copy cannot continue: all sessions are reset, and the next one loads
    /// the room again.
    ///
    /// - Parameter call: The call of the room that was answered so; nil for another cause.
    mutating func logLost(_ name: RoomName, answered call: RemovedRooms.Call? = nil) {
        guard let index = index(of: name) else { return }
        closeBatch(of: index)
        var open = rooms[index].storeCalls
        if let answered = call.flatMap({ open.firstIndex(of: $0) }) { open.remove(at: answered) }
        removed.add(name, awaiting: open)
        rooms[index].endScan(into: &effects)
        rooms[index].logLost(into: &effects)
        remove(index)
    }

    /// The result of `read`; nil when the store failed. `first` is the lowest offset that the store keeps.
    mutating func read(_ id: ReadID, _ entries: [LogEntry]?, first: UInt64) {
        with(id.member) { room, effects in
            let entries = room.log.withoutErased(entries, since: id.erasureCount)
            if let number = id.request {
                room.historyRead(number, for: id.member, entries, first: first, into: &effects)
            } else {
                room.read(id.member, entries, first: first, into: &effects)
            }
        }
    }

    /// The result of a call of the attachment store.
    mutating func attachmentAnswered(_ id: AttachmentCallID, _ result: AttachmentResult) {
        with(id.session) { $0.attachmentAnswered(id, result, into: &$1) }
    }

    /// The answer of the relay's request handler, to a request of a member.
    mutating func respond(_ handle: MemberHandle, _ response: Response) {
        with(handle) { $0.respond(nil, response, into: &$1) }
    }

    /// The state of a member's room, and the room's own bounds; nil when the member has left.
    func state(of handle: MemberHandle) -> (room: Opened, retention: RoomRetention)? {
        let index = Int(handle.room)
        guard rooms.isLive(index), rooms[index].members.slot(handle) != nil else { return nil }
        return (rooms[index].opened(), rooms[index].retention)
    }

    /// The state of a room for the administration of the relay; nil if it is not in memory.
    mutating func overview(of name: RoomName) -> RoomOverview? {
        index(of: name).map { rooms[$0].overview }
    }

    /// Whether a member, or a session of kind attachment, of a room of this loop has not left.
    mutating func isMember(_ handle: MemberHandle) -> Bool {
        guard rooms.isLive(Int(handle.room)) else { return false }
        let index = Int(handle.room)
        return rooms[index].members.slot(handle) != nil || rooms[index].attachments.slot(handle) != nil
    }

    /// The name of a member's room; nil when the member has left.
    mutating func name(of handle: MemberHandle) -> RoomName? {
        isMember(handle) ? rooms[Int(handle.room)].name : nil
    }

    /// The rooms that have members.
    var residents: [RoomName] {
        rooms.slots.filter { rooms.isLive($0) && rooms[$0].members.count > 0 }.map { rooms[$0].name }
    }

    /// The copies of the rooms that have members.
    var revisions: [RoomRevision] {
        rooms.slots.filter { rooms.isLive($0) && rooms[$0].members.count > 0 }.compactMap { rooms[$0].revision }
    }

    /// The next rooms in memory, and the place of the next page.
    func page(from place: Int, limit: Int) -> (items: [RoomOverview], next: Int?) {
        let page = TablePage.slots(rooms.slots, from: place, limit: limit) { rooms.isLive($0) }
        return (page.slots.map { rooms[$0].overview }, page.next)
    }

    // MARK: Memory

    /// Removes messages from memory that the store has, until this many bytes are free or there are none.
    mutating func trimTails(byteCount: Int) {
        var freed = 0
        for index in rooms.slots where rooms.isLive(index) && !rooms[index].log.tail.isEmpty && freed < byteCount {
            rooms[index].log.trimTail()
            freed -= rooms[index].takeChargeChange()
        }
        memoryByteCount -= freed
    }

    // MARK: Rooms

    private mutating func with(_ handle: MemberHandle, _ change: (inout RelayRoom, inout Deque<RoomEffect>) -> Void) {
        let index = Int(handle.room)
        guard rooms.isLive(index) else { return }
        change(&rooms[index], &effects)
        markDirty(index)
    }

    /// The index of a room in memory.
    mutating func index(of name: RoomName) -> Int? {
        indexOfName.find(name) { rooms[$0].name == name }
    }

    /// The messages of the batch under construction become entries of their room's log, if it is this one.
    private mutating func closeBatch(of index: Int) {
        if batch.room == Int32(index) { rooms[index].take(&batch) }
    }

    private mutating func markDirty(_ index: Int) {
        guard rooms.isLive(index), !rooms[index].isDirty else { return }
        rooms[index].isDirty = true
        dirty.append(index)
    }

    private mutating func flush(_ index: Int, now: Instant) {
        guard rooms.isLive(index) else { return }
        closeBatch(of: index)
        if rooms[index].replica.hasEarly {
            guard let count = rooms[index].takeEarly(at: wallClock, into: &effects) else {
                return logLost(rooms[index].name)
            }
            replicated.fromBus += UInt64(count)
        }
        rooms[index].applyRoles(at: wallClock, into: &effects)
        if rooms[index].hasCommands { performCommands(index) }
        // The operations of a turn are saved together.
        if rooms[index].isChangingMemberships { rooms[index].performMemberships(at: wallClock, into: &effects) }
        if rooms[index].isModerating { performOperations(index, now: now) }
        if rooms[index].isChangingMemberships { rooms[index].performMemberships(at: wallClock, into: &effects) }
        rooms[index].isDirty = false
        if let rate { rooms[index].updateThrottle(rate, now: now, into: &effects) }
        rooms[index].flush(now: now, presence: &presence, into: &effects)
        if let undeliveredDelay, rooms[index].isScanScheduled {
            rooms[index].scanUndelivered(after: undeliveredDelay, now: now, into: &effects)
        }
        if rooms[index].isWatched { reportChanges(index, now: now) }
        if rooms[index].members.hasBusReport(isLast: rooms[index].isIdle, now: now) { reportMembers(index, now: now) }
        memoryByteCount += rooms[index].takeChargeChange()
        deadlines.set(index, at: rooms[index].deadline)
        if rooms[index].isIdle {
            // The scan may have been the last reason to stay in memory.
            rooms[index].saveProgress(into: &effects)
            return remove(index)
        }
        if rooms[index].members.hasUnfinished { markDirty(index) }
    }

    private mutating func remove(_ index: Int) {
        guard rooms.isLive(index) else { return }
        rooms[index].failMemberships(into: &effects)
        rooms[index].failCommands(into: &effects)
        // The members of a room that leaves memory for a fault are no members any more.
        if rooms[index].members.isAnnounced { effects.append(.bus(BusMessage(noMembers(of: rooms[index].name)))) }
        memoryByteCount -= rooms[index].chargedByteCount
        indexOfName.remove(rooms[index].name, index)
        deadlines.cancel(index)
        rooms.remove(index)
    }

    /// Checks that no room has unfinished work.
    func check(_ check: inout QuiescenceCheck) {
        for index in rooms.slots where rooms.isLive(index) { check.add(rooms[index].quiescence()) }
        check.equal("calls of removed rooms", removed.isEmpty, true)
    }
}
