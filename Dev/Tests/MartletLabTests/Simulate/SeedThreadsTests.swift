import Foundation
import MartletSimulator
import MartletTransport
import Testing

@testable import MartletLab

private final class Flag: Sendable {
    let isSet = Guarded(false)
}

@Suite struct SeedThreadsTests {
    @Test func `jobs that compute without a suspension leave the default executor to other tasks`() async {
        let flag = Flag()
        await withTaskGroup(of: Void.self) { group in
            // One job more than the default executor has threads.
            for _ in 0...ProcessInfo.processInfo.activeProcessorCount {
                group.addTask(executorPreference: SeedThreads()) {
                    while !flag.isSet.withLock({ $0 }) { sched_yield() }
                }
            }
            group.addTask { flag.isSet.withLock { $0 = true } }
        }
    }

    @Test func `a cancelled simulation → an early end without violations`() async {
        let result = await Task(executorPreference: SeedThreads()) {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return Simulation.run(Scenario(seed: 1))
        }.value
        #expect(result.wasCancelled)
        #expect(result.violations.isEmpty)
        #expect(result.virtualTime < .seconds(10))
    }

    @Test func `cancelled lives → an early end without violations`() async {
        let result = await Task(executorPreference: SeedThreads()) {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return ClientLives.run(seed: 1)
        }.value
        #expect(result.wasCancelled)
        #expect(result.violations.isEmpty)
        #expect(result.callCount < 10)
    }
}
