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

    init(number: Int, client: VirtualClient, rooms: [RoomName]) {
        self.number = number
        self.client = client
        allRooms = rooms
        for room in rooms { shown[room] = VirtualDisk() }
    }

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
        nextDraft = 0
        isSettled = Set(settled.records)
        rooms = [:]
        names = [:]
        for room in allRooms {
            let cursor = shown[room]?.records.last ?? RoomCursor(offset: 0)
            if cursor.log != logs[room] { beginLog(of: room, cursor.log) }
            let options = RoomOptions(cursor: cursor)
            guard let id = world.act(client, { try? $0.open(room, options, now: $1) }) else { continue }
            rooms[room] = id
            names[id] = room
        }
        handOver(in: world)
        world.act(client) { $0.start(now: $1) }
    }

    /// The process dies; answers the drafts that are gone with it.
    func crash(_ random: inout VirtualRandom, in world: VirtualWorld) -> [Draft] {
        isRunning = false
        isSyncing = false
        epoch = nil
        world.crash(client)
        _ = settled.crash(&random)
        for room in allRooms { _ = shown[room]!.crash(&random) }
        return drafts.crash(&random)
    }

    func say(_ room: RoomName, byteCount: Int) -> UInt64 {
        let counter = (drafts.records.last?.counter ?? 0) + 1
        drafts.append(Draft(counter: counter, room: room, byteCount: byteCount))
        return counter
    }

    func accepted(_ counter: UInt64) {
        guard isSettled.insert(counter).inserted else { return }
        settled.append(counter)
    }

    func show(_ offset: UInt64, in room: RoomName) {
        shown[room]!.append(RoomCursor(log: logs[room], offset: offset))
    }

    /// The application is told that a room's log is lost.
    func hear(thatLogIsReplacedOf room: RoomName) {
        replaced.insert(room)
    }

    /// The application is let in; answers whether it had been told if the log is not the one that it knows.
    func enter(_ room: RoomName, _ log: LogID?) -> Bool {
        let wasTold = replaced.remove(room) != nil
        guard log != logs[room] else { return true }
        let knewSome = logs[room] != nil && lastKnown(room) > 0
        beginLog(of: room, log)
        return wasTold || !knewSome
    }

    private func beginLog(of room: RoomName, _ log: LogID?) {
        logs[room] = log
        missed[room] = nil
    }

    func miss(_ offsets: ClosedRange<UInt64>, in room: RoomName) {
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
                guard let room = rooms[draft.room] else { return }
                let key = Ledger.Key(device: id, counter: draft.counter)
                let text = Ledger.Saying(room: draft.room, byteCount: draft.byteCount).text(key)
                let isTaken = world.act(client) { engine, now in
                    let content = MessageContent(text: text)
                    return (try? engine.send(counter: draft.counter, content: content, in: room, now: now)) != nil
                }
                guard isTaken else { return }
            }
            nextDraft += 1
        }
    }
}
