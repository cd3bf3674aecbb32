import MartletProtocol
import MartletWire

/// The application of one device: what it wants to say and what it has shown are on a disk that can lose what was not
/// synced, and it goes on from there when its process has died.
final class SimulatedDevice {
    /// A message to be sent, in the order in which they were said.
    struct Draft {
        var counter: UInt64
        var room: RoomName
        var byteCount: Int
    }

    let number: Int
    let client: VirtualClient
    let account: AccountName
    private let tail: UInt32?
    private let kinds: [RoomName: SessionKind]
    private let allRooms: [RoomName]
    private(set) var drafts = VirtualDisk<Draft>()
    private(set) var settled = VirtualDisk<UInt64>()
    private var shown: [RoomName: VirtualDisk<RoomCursor>] = [:]
    /// The logs of the rooms, as the application was told.
    private(set) var logs: [RoomName: LogID] = [:]
    /// Rooms whose log is lost, as the application was told since it was let in.
    private var replaced: Set<RoomName> = []
    /// Offsets of the rooms' logs that the application was told it will not get.
    private(set) var missed: [RoomName: Set<UInt64>] = [:]
    /// The rooms as the present engine calls them.
    private(set) var rooms: [RoomName: RoomID] = [:]
    private var names: [RoomID: RoomName] = [:]
    /// Counters of the drafts that were accepted, also in earlier lives as far as the disk remembers.
    private(set) var isSettled: Set<UInt64> = []
    /// The first draft that the present engine was not given.
    private var nextDraft = 0
    var isRunning = false
    /// Whether the application takes messages.
    var isTaking = true
    /// The epoch that the present engine was last online with.
    var epoch: UInt32?
    /// The epoch of the device's link at the relay; nil when there is none.
    var epochAtRelay: UInt32?
    /// When a link of the device's ended at the relay, and whether device and relay were of one mind about it.
    var ended: (at: Instant, wasKnown: Bool)?
    /// Whether a sync is under way.
    var isSyncing = false
    /// Counts the processes of the device.
    private(set) var life = 0
    /// Rises with everything that the device gets done.
    private(set) var progressCount = 0
    /// Faults that hinder the device, and that have not healed.
    var hindranceCount = 0
    var progress = ProgressWatch()
    /// Behind what the device began with each room, from the first time that it was let in.
    private var beginnings: [RoomName: RoomCursor] = [:]

    init(number: Int, client: VirtualClient, tail: UInt32?, rooms: [RoomName], kinds: [SessionKind]) {
        self.number = number
        self.client = client
        self.tail = tail
        account = client.configuration.account
        allRooms = rooms
        self.kinds = Dictionary(uniqueKeysWithValues: zip(rooms, kinds))
        for room in rooms { shown[room] = VirtualDisk() }
    }

    var key: DeviceKey { DeviceKey(account: account, device: client.configuration.device) }
    var id: UInt64 { client.configuration.device.rawValue }
    var hasUnsettled: Bool { isSettled.count < drafts.records.count }
    var hasUnsynced: Bool {
        drafts.hasUnsynced || settled.hasUnsynced || shown.values.contains { $0.hasUnsynced }
    }

    func name(of room: RoomID) -> RoomName? { names[room] }

    /// The highest offset shown of the room's present log.
    func lastShown(_ room: RoomName) -> UInt64 {
        guard let last = shown[room]?.records.last, last.log == logs[room] else { return 0 }
        return last.offset
    }

    /// The highest offset that the application has heard of, as shown or as missing.
    func lastKnown(_ room: RoomName) -> UInt64 { max(lastShown(room), missed[room]?.max() ?? 0) }

    func shownOffsets(_ room: RoomName) -> [UInt64] {
        (shown[room]?.records ?? []).filter { $0.log == logs[room] }.map(\.offset)
    }

    // MARK: What happens

    /// The process begins: rooms are opened from where the disk says, and the client starts.
    func start(in world: VirtualWorld) {
        isRunning = true
        isTaking = true
        life += 1
        nextDraft = 0
        isSettled = Set(settled.records)
        rooms = [:]
        names = [:]
        for room in allRooms { open(room, in: world) }
        handOver(in: world)
        world.act(client) { $0.start(now: $1) }
    }

    /// Opens a room from where the disk says; a device that knows nothing of it begins near its head.
    func open(_ room: RoomName, in world: VirtualWorld) {
        guard isRunning, rooms[room] == nil else { return }
        var cursor = shown[room]?.records.last ?? beginnings[room] ?? RoomCursor(offset: 0)
        if let beginning = beginnings[room], beginning.log == cursor.log {
            cursor.offset = max(cursor.offset, beginning.offset)
        }
        if cursor.log != logs[room] { beginLog(of: room, cursor.log) }
        // A process that ended before its cursor was on the disk is sent the gaps behind the cursor again.
        missed[room] = missed[room]?.filter { $0 <= cursor.offset }
        let isNew = tail != nil && cursor.offset == 0 && beginnings[room] == nil
        let options = RoomOptions(kind: kinds[room] ?? .chat, cursor: cursor, tail: isNew ? tail : nil)
        guard let id = world.act(client, { try? $0.open(room, options, now: $1) }) else { return }
        rooms[room] = id
        names[id] = room
        // What the room has not accepted is handed over to it.
        nextDraft = 0
    }

    /// The application is told that a room's log is lost.
    func hear(thatLogIsReplacedOf room: RoomName) {
        replaced.insert(room)
    }

    /// The application is let in; answers whether it had been told if the log is not the one that it knows.
    func enter(_ room: RoomName, _ log: LogID?, head: UInt64) -> Bool {
        let wasTold = replaced.remove(room) != nil
        defer { begin(room, log, head: head) }
        guard log != logs[room] else { return true }
        let knewSome = logs[room] != nil && lastKnown(room) > 0
        beginLog(of: room, log)
        return wasTold || !knewSome
    }

    private func beginLog(of room: RoomName, _ log: LogID?) {
        logs[room] = log
        missed[room] = nil
    }

    /// Where a device begins that knows nothing of a room is settled when it is let in for the first time.
    private func begin(_ room: RoomName, _ log: LogID?, head: UInt64) {
        guard beginnings[room] == nil else { return }
        let beginning = tail.map { head - min(head, UInt64($0)) } ?? 0
        beginnings[room] = RoomCursor(log: log, offset: beginning)
        if beginning > 0 { miss(1...beginning, in: room) }
    }

    func close(_ room: RoomName, in world: VirtualWorld) {
        guard isRunning, let id = rooms.removeValue(forKey: room) else { return }
        world.act(client) { $0.close(id, now: $1) }
        names[id] = nil
    }

    /// The process dies; answers the drafts that are gone with it.
    func crash(_ random: inout SeededRandom, in world: VirtualWorld) -> [Draft] {
        isRunning = false
        isSyncing = false
        epoch = nil
        world.crash(client)
        _ = settled.crash(&random)
        for room in allRooms { _ = shown[room]!.crash(&random) }
        return drafts.crash(&random)
    }

    /// The longest text that the device says, in bytes.
    private var longest: Int { client.configuration.limits.maxMessageByteCount - 1024 }

    func say(_ room: RoomName, byteCount: Int) -> UInt64 {
        let counter = (drafts.records.last?.counter ?? 0) + 1
        drafts.append(Draft(counter: counter, room: room, byteCount: min(byteCount, longest)))
        return counter
    }

    func accepted(_ counter: UInt64) {
        guard isSettled.insert(counter).inserted else { return }
        settled.append(counter)
        progressCount += 1
    }

    func show(_ offset: UInt64, in room: RoomName) {
        shown[room]!.append(RoomCursor(log: logs[room], offset: offset))
        progressCount += 1
    }

    func miss(_ offsets: ClosedRange<UInt64>, in room: RoomName) {
        progressCount += 1
        missed[room, default: []].formUnion(offsets)
    }

    /// What was written is on the disk: drafts may go out, and what was shown is taken.
    func sync(in world: VirtualWorld) {
        drafts.sync()
        settled.sync()
        for room in allRooms { shown[room]!.sync() }
        if isTaking { take(in: world) }
        handOver(in: world)
    }

    func take(in world: VirtualWorld) {
        client.takeAll(now: world.now)
        world.settle(client)
    }

    /// Gives the engine the drafts that are on the disk, as many as it takes, in order.
    func handOver(in world: VirtualWorld) {
        guard isRunning else { return }
        while nextDraft < drafts.syncedCount {
            let draft = drafts.records[nextDraft]
            if !isSettled.contains(draft.counter) {
                guard let room = rooms[draft.room] else {
                    // It waits for the room to be opened again.
                    nextDraft += 1
                    continue
                }
                let key = Ledger.Key(device: id, counter: draft.counter)
                let text = Ledger.Saying(room: draft.room, byteCount: draft.byteCount).text(key)
                let refusal = world.act(client) { engine, now -> ClientError? in
                    do throws(ClientError) {
                        let content = MessageContent(text: text)
                        try engine.send(counter: draft.counter, content: content, in: room, now: now)
                        return nil
                    } catch { return error }
                }
                // After a room was closed, drafts of other rooms are handed over a second time, in vain.
                guard refusal == nil || refusal == .counterNotRising else { return }
            }
            nextDraft += 1
        }
    }
}
