import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

/// The faults of paths, storages and the relay in a run of ``ClientLives``.
final class LifeFaults: @unchecked Sendable {  // used by the thread that runs the world
    private let world: TestWorld
    private let ledger: LifeLedger
    private let relay: TestRelay
    private let applications: [LifeApplication]
    private let storeWeather: StorageWeather
    private let store: LifeStore
    private let policy: LifePolicy
    private let scenario: LifeScenario
    private var random: SeededRandom
    private(set) var count = 0

    init(
        _ ledger: LifeLedger, _ relay: TestRelay, _ applications: [LifeApplication], _ storeWeather: StorageWeather,
        _ store: LifeStore, _ policy: LifePolicy, _ scenario: LifeScenario
    ) {
        world = ledger.world
        self.store = store
        self.policy = policy
        self.scenario = scenario
        self.ledger = ledger
        self.relay = relay
        self.applications = applications
        self.storeWeather = storeWeather
        random = SeededRandom(seed: world.nextRandom())
    }

    /// Causes faults until `end`. All have ended when the method returns.
    func act(every interval: Duration, until end: Instant) async {
        while ledger.now < end, !Task.isCancelled {
            let pause = interval * (Double(random.next() % 2000) / 1000)
            try? await world.sleep(for: min(pause, end - ledger.now))
            if ledger.now < end { await act() }
        }
    }

    private func act() async {
        count += 1
        let application = applications[Int(random.next() % UInt64(applications.count))]
        let device = application.device
        let time = Duration.milliseconds(Int64(100 + random.next() % 60_000))
        let kind = random.next() % 17
        ledger.note(application.number, "fault", kind)
        switch kind {
        case 0, 1: device.cut()
        case 2, 3:
            device.blackHole([.up, .down, .both][Int(random.next() % 3)])
            try? await world.sleep(for: time)
            device.restore()
        case 4: device.dropNATMappings()
        case 5: device.switchNetwork()
        case 6:
            device.goOffline()
            try? await world.sleep(for: time)
            device.goOnline()
        case 7, 8:
            await relay.kill()
            try? await world.sleep(for: time / 4)
            restartRelay()
        case 9:
            await relay.stop(within: .seconds(2))
            try? await world.sleep(for: time / 8)
            restartRelay()
        case 10:
            storeWeather.fails = true
            try? await world.sleep(for: time / 8)
            storeWeather.fails = false
        case 11:
            application.weather.fails = true
            try? await world.sleep(for: time / 8)
            application.weather.fails = false
        case 12...13 where scenario.hasRefusals: await refuse(application, for: time)
        case 14 where scenario.hasRefusals: try? await relay.relay?.close(room: randomRoom())
        case 15...16 where scenario.restoresStore: await copyOrRestoreStore(time)
        default: device.cut()
        }
    }

    private func randomRoom() -> RoomName { scenario.rooms[Int(random.next() % UInt64(scenario.rooms.count))] }

    /// Bans or mutes the account of a device, which can be offline then.
    private func refuse(_ application: LifeApplication, for time: Duration) async {
        let (account, room) = (application.plan.account, randomRoom())
        let isOffline = random.happens(perMille: 600)
        if isOffline {
            application.device.goOffline()
            try? await world.sleep(for: time)
        }
        policy.refusals[room, default: [:]][account] = LifePolicy.Refusal.allCases[Int(random.next() % 2)]
        await relay.relay?.revokeRoomDecisions(of: account, in: room)
        if isOffline { application.device.goOnline() }
        try? await world.sleep(for: time)
        policy.refusals[room]?[account] = nil
        await relay.relay?.revokeRoomDecisions(of: account, in: room)
    }

    /// Makes a backup, or replaces the store by the last one while the relay is down.
    private func copyOrRestoreStore(_ time: Duration) async {
        guard store.hasCopy else { return store.makeCopy(firstLog: world.nextRandom()) }
        if random.happens(perMille: 500) { await relay.stop(within: .seconds(2)) } else { await relay.kill() }
        // Calls of the store that are in progress end.
        try? await world.sleep(for: .seconds(1) + time / 8)
        store.restore()
        for room in scenario.rooms { ledger.note(0, "the store is restored up to", UInt64(ledger.log[room].count)) }
        ledger.restoredStore()
        restartRelay()
    }

    private func restartRelay() {
        do { try relay.restart() } catch {
            ledger.fail(.errorsAreDocumented, "the relay does not start: \(error)")
        }
    }
}
