import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
package import MartletWire

/// Lives of applications on real clients and a real relay, in a ``TestWorld``: they start, send, receive, leave loops,
/// are cancelled, stopped and killed, over faulty paths and with failing storages. The invariants are
/// checked.
package enum ClientLives {
    /// The duration after the last fault within which everything settles.
    static let settleTimeout = Duration.seconds(600)

    /// Runs the scenario of a seed to its end, or until the task is cancelled.
    ///
    /// - Parameters:
    ///   - seed: The seed, which determines the run.
    ///   - duration: The virtual duration before the faults end.
    ///   - keepsTrace: Whether the result contains the observations.
    ///   - makeTimeline: Makes the timeline of an account on a device; nil for devices without timelines.
    package static func run(
        seed: UInt64, duration: Duration = .seconds(3600), keepsTrace: Bool = false,
        makeTimeline: ((AccountName) -> any LifeTimeline)? = nil
    ) -> RunResult {
        let scenario = LifeScenario(seed: seed, duration: duration, hasTimelines: makeTimeline != nil)
        let world = TestWorld(seed: seed)
        let ledger = Ledger(keepsTrace: keepsTrace) { world.now }
        let calls = LifeCalls(ledger)
        let run = LifeRun(scenario, world, ledger, calls, makeTimeline)
        do {
            try world.run(timeLimit: duration + settleTimeout * 3) { try await run.play() }
        } catch {
            calls.checkThatAllEnded()
            ledger.fail(.everyCallEnds, "the run does not end: \(error)")
        }
        var result = ledger.result(seed: seed)
        result.virtualTime = run.virtualTime
        result.faultCount = scenario.faults.count
        result.connectionCount = world.connectionCount
        (result.lifeCount, result.callCount) = (run.lifeCount, calls.count)
        return result
    }
}

/// One run of a scenario.
private final class LifeRun: @unchecked Sendable {  // used by the thread that runs the world
    private let scenario: LifeScenario
    private let world: TestWorld
    private let ledger: Ledger
    private let calls: LifeCalls
    private let members: LifeMembers
    private let makeTimeline: ((AccountName) -> any LifeTimeline)?
    private var applications: [LifeApplication] = []
    /// The number of devices that have ended each phase of the settling.
    private var arrivals: [Int: Int] = [:]
    /// The number of phases that have ended. A phase that has ended for one device has ended for all.
    private var endedPhaseCount = 0

    init(
        _ scenario: LifeScenario, _ world: TestWorld, _ ledger: Ledger, _ calls: LifeCalls,
        _ makeTimeline: ((AccountName) -> any LifeTimeline)?
    ) {
        self.scenario = scenario
        self.world = world
        self.ledger = ledger
        self.calls = calls
        members = LifeMembers(world)
        self.makeTimeline = makeTimeline
    }

    var lifeCount: Int { applications.reduce(0) { $0 + $1.lifeCount } }

    var virtualTime: Duration { world.time * applications.count }

    func play() async throws {
        let weather = StorageWeather(world, maxDelay: .milliseconds(100))
        let base = LifeStore(InMemoryStore(firstLog: world.nextRandom()), ledger)
        let store: any RoomStore = scenario.hasDelayedStore ? DelayedStore(base, weather) : base
        let policy = LifePolicy()
        let relay = try world.startRelay(store: store, policy: policy) { $0.loopCount = scenario.loopCount }
        applications = scenario.devices.indices.map { index in
            let plan = scenario.devices[index]
            return LifeApplication(
                index, in: scenario, world, ledger, calls, members,
                plan.reading == .timeline ? makeTimeline?(plan.account) : nil)
        }
        let faults = LifeFaults(world, ledger, relay, applications, base, policy, scenario.rooms) { [members] in
            members.restored()
        }
        // A device that is refused can publish again what it does not know to be refused.
        ledger.mayBeLate = { [scenario] _, _ in scenario.hasRefusals }
        let end = ledger.now + scenario.duration
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await faults.act(self.scenario.faults, until: end) }
            for application in applications { group.addTask { await application.live(until: end) } }
            let watch = world.startTask { await self.watchCalls() }
            await group.waitForAll()
            watch.cancel()
        }
        let views = await settle()
        calls.checkThatAllEnded()
        LifeAgreement(ledger, members, scenario, base).check(views)
    }

    private func watchCalls() async {
        while !Task.isCancelled {
            calls.checkLimits()
            try? await world.sleep(for: .seconds(10))
        }
    }

    /// All devices receive until nothing is pending anywhere, because some send replies meanwhile.
    private func settle() async -> [LifeView] {
        let end = ledger.now + ClientLives.settleTimeout
        return await withTaskGroup(of: [LifeView].self) { group in
            for application in applications {
                group.addTask {
                    await application.settle(within: ClientLives.settleTimeout) { phase in
                        self.arrivals[phase, default: 0] += 1
                        while self.ledger.now < end, !Task.isCancelled, !self.haveAllSettled(phase) {
                            try? await self.world.sleep(for: .milliseconds(500))
                        }
                        // The last replies and marks arrive.
                        try? await self.world.sleep(for: .seconds(10))
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }.sorted { ($0.room, $0.device) < ($1.room, $1.device) }
        }
    }

    private func haveAllSettled(_ phase: Int) -> Bool {
        if endedPhaseCount <= phase, arrivals[phase] == applications.count, applications.allSatisfy(\.isSettled) {
            endedPhaseCount = phase + 1
        }
        return endedPhaseCount > phase
    }
}
