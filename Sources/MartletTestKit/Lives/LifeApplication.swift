import Martlet
import MartletProtocol
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
    let readers: [LifeReader]
    var random: SeededRandom
    private(set) var lifeCount = 0
    /// Whether all faults are over, and the application only receives.
    var isSettling = false
    var client: Client?
    var rooms: [RoomName: Room] = [:]
    private var lastText = 0
    /// The number of requests from other members that were answered.
    var answerCount = 0
    private let peers: [AccountName]

    init(_ number: Int, in scenario: LifeScenario, _ ledger: LifeLedger) {
        self.number = number
        self.ledger = ledger
        plan = scenario.devices[number]
        world = ledger.world
        random = SeededRandom(seed: world.nextRandom())
        peers = scenario.devices.map(\.account)
        let id = DeviceID(rawValue: UInt64(number + 1))
        let base = InMemoryOutbox(device: id)
        weather = StorageWeather(world, maxDelay: .milliseconds(200))
        device = world.device(
            plan.account.text, outbox: plan.hasDelayedOutbox ? DelayedOutbox(base, weather) : base,
            conditions: plan.conditions)
        device.configuration.maxPendingMessages = plan.maxPendingMessages
        readers = scenario.rooms.map { LifeReader($0, device: number, ownID: id, ledger) }
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
        }
    }

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
            }
            await end(ending)
            acting.cancel()
            await acting.value
        }
        client = nil
        rooms = [:]
        await device.kill()
    }

    /// Starts a client; false if that fails.
    private func begin() async -> Bool {
        lifeCount += 1
        guard let client = try? device.makeClient() else { return false }
        do {
            try await call("start", within: .seconds(5)) { try await client.start() }
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
            let delay: Duration = weather.fails || plan.hasDelayedOutbox ? .seconds(10) : .milliseconds(100)
            if plan.reading != .deliveries { for reader in readers { reader.killed(durableAfter: delay) } }
            noteKill()
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
        for reader in readers { reader.killed(durableAfter: .seconds(weather.fails ? 3600 : 10)) }
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
        for reader in readers { group.addTask { await self.open(reader) } }
        if let status = client?.status {
            group.addTask {
                try? await self.call("status") { for await _ in status { self.ledger.note(self.number, "status") } }
            }
        }
    }

    // MARK: - The last life

    /// Receives all messages and waits until nothing is pending. Returns after `limit` at the latest.
    func settle(within limit: Duration) async {
        isSettling = true
        guard await begin() else {
            return ledger.fail(.everythingSettles, "device \(number) cannot start")
        }
        let end = ledger.now + limit
        await withTaskGroup(of: Void.self) { group in
            addReaders(to: &group)
            while ledger.now < end, !Task.isCancelled, !isSettled { try? await world.sleep(for: .milliseconds(500)) }
            if !isSettled { ledger.fail(.everythingSettles, "device \(number): \(remainder)") }
            await waitForPeers?()
            checkSnapshots()
            await checkRooms()
            await self.end(.stop)
        }
        client = nil
        rooms = [:]
        await device.kill()
    }

    /// Called before the last client stops, because other devices may send replies until then.
    var waitForPeers: (() async -> Void)?

    var isSettled: Bool {
        readers.allSatisfy { reader in
            guard let room = rooms[reader.room] else { return false }
            return room.pending.isEmpty && reader.mayBeHandled >= reader.lastForeign
        }
    }

    private var remainder: String {
        readers.map { reader in
            guard let room = rooms[reader.room] else { return "\(reader.room) is not open" }
            return
                "\(reader.room) has \(room.pending.count) pending messages, and has handled \(reader.mayBeHandled) of "
                + "\(reader.lastForeign)"
        }.joined(separator: "; ") + "; the client is \(client?.currentStatus.description ?? "gone")"
    }

    private func checkSnapshots() {
        for reader in readers {
            guard let room = rooms[reader.room] else { continue }
            let (last, count) = (room.snapshot.lastOffset, UInt64(ledger.log[reader.room].count))
            if last != count {
                ledger.fail(
                    .snapshotsAreCurrent, "device \(number) knows \(last) of \(count) messages of \(reader.room)")
            }
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
