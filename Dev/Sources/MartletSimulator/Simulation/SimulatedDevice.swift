import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// The application of one device. Its drafts and delivered messages are on a disk that loses unsynced records in a
/// crash, from which the application recovers.
final class SimulatedDevice {
    /// A link in one of its epochs.
    struct LinkEpoch: Equatable {
        var link: LinkID
        var epoch: Epoch
    }

    /// A message to send.
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
    private var delivered: [RoomName: VirtualDisk<RoomCursor>] = [:]
    /// The logs of the rooms, as reported to the application.
    private(set) var logs: [RoomName: LogID] = [:]
    /// Rooms whose log was reported lost since they were opened.
    private var lostLogRooms: Set<RoomName> = []
    /// Offsets reported as gaps, by room.
    private(set) var skipped: [RoomName: Set<UInt64>] = [:]
    /// The room IDs of the current engine.
    private(set) var rooms: [RoomName: RoomID] = [:]
    private var names: [RoomID: RoomName] = [:]
    /// Counters of accepted drafts, including those of earlier processes on the disk.
    private(set) var acceptedCounters: Set<UInt64> = []
    /// The first draft not yet sent to the current engine.
    private var nextDraft = 0
    /// The number of drafts that were sent to an engine, of this life or an earlier one.
    private var sentDraftCount = 0
    var isRunning = false
    /// Whether the application takes messages.
    var isTaking = true
    /// The link of the current engine's last online state.
    var link: LinkEpoch?
    /// The device's link at the relay; nil without a link.
    var linkAtRelay: LinkEpoch?
    /// The last end of a link at the relay, and whether the device and the relay had the same epoch of it.
    var ended: (at: Instant, wasKnown: Bool)?
    /// Whether a sync is in progress.
    var isSyncing = false
    /// Whether the disk syncs nothing.
    var failsSyncs = false
    /// The number of process starts.
    private(set) var startCount = 0
    /// A counter of the device's progress.
    private(set) var progressCount = 0
    /// Active faults that hinder the device.
    var activeFaultCount = 0
    var progress = ProgressMonitor()
    /// The outbox that is compared with the disk.
    private let outbox: (any SimulatedOutbox)?
    /// The numbers of records of the disk that are in the outbox.
    private var storedDraftCount = 0
    private var storedSettledCount = 0
    private var storedCursors: [RoomName: RoomCursor] = [:]
    /// The first cursor of each room, from its first opening.
    private var firstCursors: [RoomName: RoomCursor] = [:]

    init(
        number: Int, client: VirtualClient, tail: UInt32?, rooms: [RoomName], kinds: [SessionKind],
        outbox: (any SimulatedOutbox)?
    ) {
        self.outbox = outbox
        self.number = number
        self.client = client
        self.tail = tail
        account = client.configuration.link.account
        allRooms = rooms
        self.kinds = Dictionary(uniqueKeysWithValues: zip(rooms, kinds))
        for room in rooms { delivered[room] = VirtualDisk() }
    }

    var key: DeviceKey { DeviceKey(account: account, device: client.configuration.link.device) }
    var id: UInt64 { client.configuration.link.device.rawValue }
    var hasUnsettled: Bool { acceptedCounters.count < drafts.records.count }
    var hasUnsynced: Bool {
        drafts.hasUnsynced || settled.hasUnsynced || delivered.values.contains { $0.hasUnsynced }
    }

    func name(of room: RoomID) -> RoomName? { names[room] }

    /// The highest delivered offset of the room's current log.
    func lastDelivered(_ room: RoomName) -> UInt64 {
        guard let last = delivered[room]?.records.last, last.log == logs[room] else { return 0 }
        return last.offset
    }

    /// The highest offset delivered or reported as a gap.
    func lastKnown(_ room: RoomName) -> UInt64 { max(lastDelivered(room), skipped[room]?.max() ?? 0) }

    func deliveredOffsets(_ room: RoomName) -> [UInt64] {
        (delivered[room]?.records ?? []).filter { $0.log == logs[room] }.map(\.offset)
    }

    // MARK: - Events

    /// Starts the process: opens the rooms from the disk and starts the client.
    func start(in world: VirtualWorld) {
        isRunning = true
        isTaking = true
        if startCount > 0 { reopenOutbox() }
        startCount += 1
        nextDraft = 0
        acceptedCounters = Set(settled.records)
        rooms = [:]
        names = [:]
        for room in allRooms { open(room, in: world) }
        sendDrafts(in: world)
        world.act(client) { $0.handle(.start, now: $1) }
    }

    /// Opens a room at the cursor on the disk. A device without a cursor opens it near the last offset.
    func open(_ room: RoomName, in world: VirtualWorld) {
        guard isRunning, rooms[room] == nil else { return }
        var cursor = delivered[room]?.records.last ?? firstCursors[room] ?? RoomCursor(offset: 0)
        if let firstCursor = firstCursors[room], firstCursor.log == cursor.log {
            cursor.offset = max(cursor.offset, firstCursor.offset)
        }
        if cursor.log != logs[room] { setLog(of: room, cursor.log) }
        // A process that ended before its cursor was on the disk receives the gaps after the cursor again.
        skipped[room] = skipped[room]?.filter { $0 <= cursor.offset }
        let isNew = tail != nil && cursor.offset == 0 && firstCursors[room] == nil
        let options = RoomOptions(kind: kinds[room] ?? .chat, cursor: cursor, tail: isNew ? tail : nil)
        guard let id = world.act(client, { try? $0.open(room, options, now: $1) }) else { return }
        rooms[room] = id
        names[id] = room
        // Messages of the room that were not accepted are sent again.
        nextDraft = 0
    }

    /// Records that a room's log was reported lost.
    func recordLogLoss(of room: RoomName) {
        lostLogRooms.insert(room)
    }

    /// Records the log of an opened room. Returns false for a change of log that was not reported.
    func recordOpening(of room: RoomName, _ log: LogID?, lastOffset: UInt64) -> Bool {
        let wasReported = lostLogRooms.remove(room) != nil
        defer { setFirstCursor(of: room, log, lastOffset: lastOffset) }
        guard log != logs[room] else { return true }
        let hadMessages = logs[room] != nil && lastKnown(room) > 0
        setLog(of: room, log)
        return wasReported || !hadMessages
    }

    private func setLog(of room: RoomName, _ log: LogID?) {
        logs[room] = log
        skipped[room] = nil
    }

    /// The first opening determines the first cursor of a room.
    private func setFirstCursor(of room: RoomName, _ log: LogID?, lastOffset: UInt64) {
        guard firstCursors[room] == nil else { return }
        let firstCursor = tail.map { lastOffset - min(lastOffset, UInt64($0)) } ?? 0
        firstCursors[room] = RoomCursor(log: log, offset: firstCursor)
        if firstCursor > 0 { skip(1...firstCursor, in: room) }
    }

    func close(_ room: RoomName, in world: VirtualWorld) {
        guard isRunning, let id = rooms.removeValue(forKey: room) else { return }
        world.act(client) { $0.close(id, now: $1) }
        names[id] = nil
    }

    /// Handles the permanent end of a room's session by the relay.
    func removed(from room: RoomName) {
        guard let id = rooms.removeValue(forKey: room) else { return }
        names[id] = nil
    }

    /// Crashes the process and returns the texts of the lost drafts.
    func crash(_ random: inout SeededRandom, in world: VirtualWorld) -> [String] {
        isRunning = false
        isSyncing = false
        link = nil
        world.crash(client)
        _ = settled.crash(&random)
        for room in allRooms { _ = delivered[room]!.crash(&random) }
        let lost = drafts.crash(&random)
        storeInOutbox()
        return lost.map { text(of: $0) }
    }

    /// The maximum length of a text, in bytes.
    private var maxTextByteCount: Int { client.configuration.link.limits.maxMessageByteCount - 1024 }

    func publish(_ room: RoomName, byteCount: Int) -> UInt64 {
        let counter = (drafts.records.last?.counter ?? 0) + 1
        drafts.append(Draft(counter: counter, room: room, byteCount: min(byteCount, maxTextByteCount)))
        return counter
    }

    func accepted(_ counter: UInt64) {
        guard acceptedCounters.insert(counter).inserted else { return }
        settled.append(counter)
        progressCount += 1
    }

    func deliver(_ offset: UInt64, in room: RoomName) {
        delivered[room]!.append(RoomCursor(log: logs[room], offset: offset))
        progressCount += 1
    }

    /// A transfer has made progress.
    func progressed() { progressCount += 1 }

    func skip(_ offsets: ClosedRange<UInt64>, in room: RoomName) {
        progressCount += 1
        skipped[room, default: []].formUnion(offsets)
    }

    /// Completes a sync: drafts may be sent, and delivered messages are taken.
    func sync(in world: VirtualWorld) {
        drafts.sync()
        settled.sync()
        for room in allRooms { delivered[room]!.sync() }
        storeInOutbox()
        if isTaking { take(in: world) }
        sendDrafts(in: world)
    }

    // MARK: - Outbox

    private func text(of draft: Draft) -> String {
        "\(id).\(draft.counter)" + String(repeating: ".", count: draft.byteCount)
    }

    /// The text of a message, whose counters begin with 1; empty for one without a draft.
    func text(of counter: UInt64) -> String {
        counter >= 1 && counter <= drafts.records.count ? text(of: drafts.records[Int(counter) - 1]) : ""
    }

    func messageID(_ counter: UInt64) -> MessageID {
        MessageID(sender: account, device: DeviceID(rawValue: id), counter: counter)
    }

    /// Stores the new records of the disk in the outbox, in one transaction.
    private func storeInOutbox() {
        guard let outbox else { return }
        do {
            let device = try outbox.device
            var changes = OutboxTransaction()
            changes.appended = drafts.records[storedDraftCount...].map { entry($0, of: device) }
            // The file does not need the room and the offset of an outcome.
            changes.outcomes = settled.records[storedSettledCount...].map {
                let id = MessageID(sender: account, device: device, counter: $0)
                return OutboxOutcome(id: id, room: allRooms[0], result: .accepted(offset: $0))
            }
            changes.cursors = delivered.compactMapValues(\.records.last).filter { storedCursors[$0.key] != $0.value }
            (storedDraftCount, storedSettledCount) = (drafts.records.count, settled.records.count)
            storedCursors.merge(changes.cursors) { $1 }
            if !changes.isEmpty { try outbox.commit(changes) }
        } catch { preconditionFailure("the outbox fails: \(error)") }
    }

    /// Opens the outbox again, and checks that it has the contents of the disk.
    private func reopenOutbox() {
        guard let outbox else { return }
        let accepted = Set(settled.records)
        let pending = drafts.records.filter { !accepted.contains($0.counter) }
        do {
            let found = try outbox.reopen()
            precondition(
                found.pending == pending.map { entry($0, of: found.device) }, "the outbox has other messages")
            precondition(
                found.cursors == delivered.compactMapValues(\.records.last), "the outbox has other cursors")
        } catch { preconditionFailure("the outbox fails: \(error)") }
    }

    private func entry(_ draft: Draft, of device: DeviceID) -> OutboxEntry {
        OutboxEntry(
            id: MessageID(sender: account, device: device, counter: draft.counter), room: draft.room,
            content: MessageContent(text: text(of: draft)))
    }

    func take(in world: VirtualWorld) {
        client.takeAll(now: world.now)
        world.settle(client)
    }

    /// Sends the synced drafts in order, as many as the engine accepts.
    func sendDrafts(in world: VirtualWorld) {
        guard isRunning else { return }
        while nextDraft < drafts.syncedCount {
            let draft = drafts.records[nextDraft]
            if !acceptedCounters.contains(draft.counter) {
                guard let room = rooms[draft.room] else {
                    // The draft waits until the room is open.
                    nextDraft += 1
                    continue
                }
                let text = text(of: draft)
                let wasSent = nextDraft < sentDraftCount
                let refusal = world.act(client) { engine, now -> ClientError? in
                    let content = MessageContent(text: text)
                    guard !wasSent else {
                        let message = MessageLedger.Pending(counter: draft.counter, content)
                        engine.restore(
                            [.pending(message, isInFlight: false)], releasedUpTo: draft.counter, in: room, now: now)
                        return nil
                    }
                    do throws(ClientError) {
                        try engine.send(counter: draft.counter, content: content, in: room, now: now)
                        return nil
                    } catch { return error }
                }
                // After a room was closed, drafts of other rooms are sent again and refused.
                guard refusal == nil || refusal == .counterNotRising else { return }
                sentDraftCount = max(sentDraftCount, nextDraft + 1)
            }
            nextDraft += 1
        }
    }
}
