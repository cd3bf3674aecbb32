import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

/// The application of one device, which lives several times, each with a client of its own.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class LifeApplication: @unchecked Sendable {
    let number: Int
    let plan: LifeScenario.Device
    let device: TestDevice
    let ledger: LifeLedger
    let world: TestWorld
    let weather: StorageWeather
    private(set) var readers: [LifeReader] = []
    let base: InMemoryOutbox
    /// Present if the application reads by a timeline.
    let timeline: (any LifeTimeline)?
    /// The IDs that the device has had.
    private var deviceIDs: Set<DeviceID> = []
    private var backup: (outbox: InMemoryOutbox, nextCounter: UInt64)?
    private(set) var hasRestored = false
    var random: SeededRandom
    private(set) var lifeCount = 0
    /// Whether all faults are over, and the application only receives.
    var isSettling = false
    var client: Client?
    var rooms: [RoomName: Room] = [:]
    private var lastText = 0
    /// The number of requests from other members that were answered.
    var answerCount = 0
    /// Whether the current client was killed.
    private(set) var isKilled = false
    private let peers: [AccountName]
    let hasRefusals: Bool

    init(_ number: Int, in scenario: LifeScenario, _ ledger: LifeLedger, _ timeline: (any LifeTimeline)?) {
        self.timeline = timeline
        self.number = number
        self.ledger = ledger
        plan = scenario.devices[number]
        world = ledger.world
        random = SeededRandom(seed: world.nextRandom())
        peers = scenario.devices.map(\.account)
        hasRefusals = scenario.hasRefusals
        let id = DeviceID(rawValue: UInt64(number + 1))
        base = InMemoryOutbox(device: id)
        weather = StorageWeather(world, maxDelay: .milliseconds(200))
        device = world.device(
            plan.account.text, outbox: plan.hasDelayedOutbox ? DelayedOutbox(base, weather) : base,
            conditions: plan.conditions)
        device.configuration.maxPendingMessages = plan.maxPendingMessages
        ledger.note(number, plan.restoresOutbox ? "restores its outbox, reads as" : "reads as", plan.reading.number)
        readers = scenario.rooms.map { room in
            LifeReader(room, device: number, ownIDs: { [unowned self] in noteDevice() }, ledger)
        }
    }

    /// The IDs of the device. The client can have replaced the current one.
    @discardableResult
    private func noteDevice() -> Set<DeviceID> {
        deviceIDs.insert(base.device)
        return deviceIDs
    }

    func happens(perMille: Int) -> Bool { random.happens(perMille: perMille) }

    /// A duration with the mean `mean`, at most four times as long.
    func duration(around mean: Duration) -> Duration {
        let share = Double(random.next() % 1000) / 1000
        return mean * (share * share * 3)
    }

    // MARK: - Calls

    /// Makes a call that ends within a limit, if it has one.
    func call<Result>(
        _ name: StaticString, within limit: Duration? = nil, _ body: () async throws -> Result
    ) async throws -> Result {
        let number = ledger.begin(name, of: number, within: limit)
        defer { ledger.end(number) }
        do { return try await body() } catch {
            if !(error is MartletError || error is CancellationError) {
                ledger.fail(.errorsAreDocumented, "device \(self.number): \(name) throws \(error)")
            }
            throw error
        }
    }

    // MARK: - Lives

    /// Lives until `end`, with pauses between the lives.
    func live(until end: Instant) async {
        while ledger.now < end, !Task.isCancelled {
            await live(for: min(duration(around: .seconds(600)), end - ledger.now))
            try? await world.sleep(for: duration(around: .seconds(20)))
            if plan.restoresOutbox { await copyOrRestoreOutbox() }
        }
    }

    // MARK: - Files

    /// Copies the outbox, or replaces it by the copy. Of the used counters the relay knows the last 64 (R-150).
    private func copyOrRestoreOutbox() async {
        // The calls of an earlier client end.
        try? await world.sleep(for: .seconds(1))
        let nextCounter = base.open().nextCounter
        if let backup, nextCounter - backup.nextCounter < 60 {
            restore(backup.outbox)
            self.backup = nil
        } else {
            let copy = InMemoryOutbox(device: base.device)
            copy.restore(base)
            backup = (copy, nextCounter)
        }
    }

    private func restore(_ other: InMemoryOutbox) {
        noteDevice()
        base.restore(other)
        noteDevice()
        hasRestored = true
        let state = base.open()
        ledger.restored(number, pending: state.pending.map(\.content))
        for reader in readers { reader.restore(state.cursors[reader.room]) }
        ledger.note(number, "has an earlier outbox", state.nextCounter)
    }

    // MARK: - Parts of a life

    private enum Ending: CaseIterable {
        case stop
        case kill
        case release
    }

    private func live(for time: Duration) async {
        guard await begin() else { return }
        await withTaskGroup(of: Void.self) { group in
            addReaders(to: &group)
            let acting = world.startTask { await self.act() }
            try? await world.sleep(for: time)
            let ending = Ending.allCases[Int(random.next() % 3)]
            if ending == .release || happens(perMille: 500) { acting.cancel() }
            if ending == .release {
                await acting.value
                // An iteration keeps the client alive, so all of them end before the release.
                noteRelease()
                group.cancelAll()
                await group.waitForAll()
                await timeline?.end()
            }
            await end(ending)
            acting.cancel()
            await acting.value
        }
        client = nil
        rooms = [:]
        await timeline?.end()
        await device.kill()
    }

    /// Starts a client; false if that fails.
    private func begin() async -> Bool {
        lifeCount += 1
        isKilled = false
        guard let client = try? device.makeClient() else { return false }
        do {
            try await call("start", within: .seconds(5)) { try await client.start() }
            try await timeline?.begin(client)
        } catch {
            await device.kill()
            return false
        }
        self.client = client
        return true
    }

    private func end(_ ending: Ending) async {
        switch ending {
        case .stop:
            guard let client else { return }
            try? await call("stop", within: .seconds(30)) { await client.stop() }
        case .kill:
            ledger.note(number, "is killed")
            let delay: Duration = weather.fails || plan.hasDelayedOutbox ? .seconds(20) : .milliseconds(100)
            if plan.reading != .deliveries { for reader in readers { reader.killed(durableAfter: delay) } }
            noteKill()
            isKilled = true
            await device.kill()
        case .release:
            // The release of the last reference stops the client without a flush.
            guard let status = client?.status else { return }
            client = nil
            rooms = [:]
            device.release()
            try? await call("release", within: .seconds(30)) { for await _ in status {} }
        }
    }

    /// The cursors of handled messages may not have reached the outbox.
    private func noteRelease() {
        guard plan.reading != .deliveries else { return }
        for reader in readers { reader.killed(durableAfter: .seconds(weather.fails ? 3600 : 20)) }
    }

    /// A message that was queued at this instant may not have reached the outbox.
    private func noteKill() {
        for text in queuedNow(at: ledger.now) { ledger.note(text, .mayBeStored) }
    }

    private var queued: [(at: Instant, text: String)] = []

    private func queuedNow(at now: Instant) -> [String] {
        queued.filter { $0.at == now }.map(\.text)
    }

    private func addReaders(to group: inout TaskGroup<Void>) {
        for reader in readers { group.addTask { await self.keepOpen(reader) } }
        if let timeline {
            group.addTask { _ = try? await self.call("timeline") { try await timeline.run() } }
        }
        if let status = client?.status {
            group.addTask {
                try? await self.call("status") { for await _ in status { self.ledger.note(self.number, "status") } }
            }
        }
    }

    // MARK: - The last life

    /// Receives all messages, waits until nothing is pending, and sends a last message to each room. Each phase returns
    /// after `limit` at the latest.
    ///
    /// - Parameter waitForPeers: Waits until the other devices have ended a phase, because they can send replies.
    /// - Returns: The state of the device in each room.
    func settle(within limit: Duration, waitForPeers: @Sendable (_ phase: Int) async -> Void) async -> [LifeView] {
        isSettling = true
        guard await begin() else {
            ledger.fail(.everythingSettles, "device \(number) cannot start")
            return []
        }
        var views: [LifeView] = []
        await withTaskGroup(of: Void.self) { group in
            addReaders(to: &group)
            await waitUntilSettled(within: limit)
            await waitForPeers(0)
            for room in readers.map(\.room) { await sendLast(to: room) }
            await waitUntilSettled(within: limit)
            await waitForPeers(1)
            for room in readers.map(\.room) where happens(perMille: 600) { await markRead(room) }
            // A dead connection is noticed, and the marks are sent on the next one.
            try? await world.sleep(for: .seconds(90))
            for room in readers.map(\.room) { if let view = await view(of: room) { views.append(view) } }
            await waitForPeers(2)
            await self.end(.stop)
        }
        client = nil
        rooms = [:]
        await timeline?.end()
        await device.kill()
        return views
    }

    private func waitUntilSettled(within limit: Duration) async {
        let end = ledger.now + limit
        while ledger.now < end, !Task.isCancelled, !isSettled {
            try? await world.sleep(for: .milliseconds(500))
            await noteCursors()
        }
        if !isSettled { ledger.fail(.everythingSettles, "device \(number): \(remainder)") }
    }

    /// The timeline stores its cursors.
    private func noteCursors() async {
        guard let timeline else { return }
        for reader in readers {
            guard let cursor = try? await timeline.cursor(of: reader.room) else { continue }
            reader.restore(cursor)
        }
    }

    private func sendLast(to name: RoomName) async {
        let text = "last \(nextText())"
        guard let room = rooms[name], let message = try? OutgoingMessage(text: text) else { return }
        ledger.sending(text, from: number, in: name)
        do {
            let handle = try await call("send") { try await submit(message, in: room) }
            ledger.note(text, .isStored)
            _ = try await call("accepted", within: .seconds(60)) { try await handle?.accepted() }
        } catch {
            ledger.fail(.everythingSettles, "device \(number): the last message to \(name) throws \(error)")
        }
    }

    var isSettled: Bool {
        readers.allSatisfy { reader in
            guard let room = rooms[reader.room] else { return false }
            return room.pending.isEmpty && reader.hasHandledAll
        }
    }

    private var remainder: String {
        readers.map { reader in
            guard let room = rooms[reader.room] else { return "\(reader.room) is not open" }
            return
                "\(reader.room) has \(room.pending.count) pending messages, and has handled \(reader.mayBeHandled) of "
                + "\(ledger.log[reader.room].count)"
        }.joined(separator: "; ") + "; the client is \(client?.currentStatus.description ?? "gone")"
    }

    private func view(of name: RoomName) async -> LifeView? {
        guard let client, let room = rooms[name] else { return nil }
        do {
            let list = try await call("rooms", within: .seconds(60)) { try await client.rooms() }
            let letters = try await call("deadLetters", within: .seconds(30)) { try await room.deadLetters() }
            return LifeView(
                device: number, account: plan.account, room: name, snapshot: room.snapshot,
                summary: list.first { $0.name == name }, pendingCount: base.open().pending.count, letters: letters,
                timeline: try await timeline?.view(of: name))
        } catch {
            ledger.fail(.everythingSettles, "device \(number) cannot be compared: \(error)")
            return nil
        }
    }

    // MARK: - Names

    func nextText() -> String {
        lastText += 1
        return "message \(number) \(lastText)"
    }

    func queuedNow(_ text: String) {
        if queued.count > 64 { queued.removeFirst(32) }
        queued.append((ledger.now, text))
    }

    /// The account of a random device.
    func peer() -> AccountName { peers[Int(random.next() % UInt64(peers.count))] }
}
