import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
package import MartletWire

/// Lives of applications on real clients and a real relay, in a ``TestWorld``: they start, send, receive, leave loops,
/// are cancelled, stopped and killed, over faulty paths and with failing storages. The promises of the public API are
/// checked.
package enum ClientLives {
    /// The duration after the last fault within which everything settles.
    static let settleTimeout = Duration.seconds(600)

    /// The result of a run.
    package struct Result: Sendable {
        /// The seed.
        package var seed: UInt64
        /// The broken promises, at most ten; none if the run was cancelled.
        package var broken: [BrokenPromise]
        /// Whether the task was cancelled before the end of the run.
        package var wasCancelled: Bool
        /// The virtual duration of the lives of all devices.
        package var virtualTime: Duration
        /// The number of clients.
        package var lifeCount: Int
        /// The number of calls of the public API.
        package var callCount: Int
        /// The number of calls of `send`.
        package var messageCount: Int
        /// The number of messages that iterations have returned.
        package var shownCount: Int
        /// The number of faults.
        package var faultCount: Int
        /// The number of connections.
        package var connectionCount: Int
        /// The hash of all observations. The same seed gives the same hash.
        package var traceHash: UInt64
        /// The observations, one a line, if they are kept.
        package var trace: [String]
    }

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
    ) -> Result {
        let scenario = LifeScenario(seed: seed, duration: duration, hasTimelines: makeTimeline != nil)
        let world = TestWorld(seed: seed)
        let ledger = LifeLedger(world, keepsTrace: keepsTrace)
        let run = LifeRun(scenario, ledger, makeTimeline)
        do {
            try world.run(timeLimit: duration + settleTimeout * 3) { try await run.play() }
        } catch {
            ledger.checkThatCallsEnded()
            ledger.fail(.everyCallEnds, "the run does not end: \(error)")
        }
        return Result(
            seed: seed, broken: Task.isCancelled ? [] : ledger.broken, wasCancelled: Task.isCancelled,
            virtualTime: run.virtualTime, lifeCount: run.lifeCount,
            callCount: ledger.callCount, messageCount: ledger.messageCount, shownCount: ledger.shownCount,
            faultCount: run.faultCount, connectionCount: world.connectionCount,
            traceHash: ledger.trace.hash, trace: ledger.trace.lines)
    }
}

/// One run of a scenario.
private final class LifeRun: @unchecked Sendable {  // used by the thread that runs the world
    private let scenario: LifeScenario
    private let ledger: LifeLedger
    private let makeTimeline: ((AccountName) -> any LifeTimeline)?
    private var world: TestWorld { ledger.world }
    private var applications: [LifeApplication] = []
    private(set) var faultCount = 0
    /// The number of devices that have ended each phase of the settling.
    private var arrivals: [Int: Int] = [:]
    /// The number of phases that have ended. A phase that has ended for one device has ended for all.
    private var endedPhaseCount = 0

    init(_ scenario: LifeScenario, _ ledger: LifeLedger, _ makeTimeline: ((AccountName) -> any LifeTimeline)?) {
        self.scenario = scenario
        self.ledger = ledger
        self.makeTimeline = makeTimeline
    }

    var lifeCount: Int { applications.reduce(0) { $0 + $1.lifeCount } }

    var virtualTime: Duration { world.time * applications.count }

    func play() async throws {
        let weather = StorageWeather(world, maxDelay: .milliseconds(100))
        let base = LifeStore(InMemoryStore(firstLog: world.nextRandom()), weather, ledger.log)
        let store: any RoomStore = scenario.hasDelayedStore ? DelayedStore(base, weather) : base
        let policy = LifePolicy()
        let relay = try world.startRelay(store: store, policy: policy) { $0.loopCount = scenario.loopCount }
        applications = scenario.devices.indices.map { index in
            let plan = scenario.devices[index]
            return LifeApplication(
                index, in: scenario, ledger, plan.reading == .timeline ? makeTimeline?(plan.account) : nil)
        }
        let faults = LifeFaults(ledger, relay, applications, weather, base, policy, scenario)
        let end = ledger.now + scenario.duration
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await faults.act(every: self.scenario.faultInterval, until: end) }
            for application in applications { group.addTask { await application.live(until: end) } }
            let watch = world.startTask { await self.watchCalls() }
            await group.waitForAll()
            watch.cancel()
        }
        faultCount = faults.count
        let views = await settle()
        ledger.checkThatCallsEnded()
        LifeAgreement(ledger, scenario, base).check(views)
    }

    private func watchCalls() async {
        while !Task.isCancelled {
            ledger.checkCalls()
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
