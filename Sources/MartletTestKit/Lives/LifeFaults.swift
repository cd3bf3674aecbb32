import MartletProtocol
import MartletWire

/// The faults of paths, storages and the relay in a run of ``ClientLives``.
final class LifeFaults: @unchecked Sendable {  // used by the thread that runs the world
    private let world: TestWorld
    private let ledger: LifeLedger
    private let relay: TestRelay
    private let applications: [LifeApplication]
    private let storeWeather: StorageWeather
    private var random: SeededRandom
    private(set) var count = 0
    /// Whether the faults are ending, so that no further fault begins.
    private var isOver = false

    init(_ ledger: LifeLedger, _ relay: TestRelay, _ applications: [LifeApplication], _ storeWeather: StorageWeather) {
        world = ledger.world
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
        let kind = random.next() % 12
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
        default:
            application.weather.fails = true
            try? await world.sleep(for: time / 8)
            application.weather.fails = false
        }
    }

    private func restartRelay() {
        do { try relay.restart() } catch {
            ledger.fail(.errorsAreDocumented, "the relay does not start: \(error)")
        }
    }
}
