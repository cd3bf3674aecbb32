import MartletToolSupport
import Testing

@testable import MartletLab
@testable import MartletSimulator

@Suite struct RunTallyTests {
    private func result(_ seed: UInt64, _ violations: [Violation] = []) -> RunResult {
        var result = RunResult(seed: seed)
        (result.traceHash, result.violations, result.virtualTime) = (seed &* 31, violations, .seconds(60))
        return result
    }

    private func tally(_ seeds: [UInt64]) -> RunTally {
        var tally = RunTally()
        for seed in seeds { tally.add(result(seed)) }
        return tally
    }

    @Test func `the hash depends on every run and not on their order`() {
        #expect(tally([1, 2, 3]).traceHash == tally([3, 1, 2]).traceHash)
        #expect(tally([1, 2, 3]).traceHash != tally([1, 2, 4]).traceHash)
    }

    @Test func `failed seeds are counted, and the lowest ones are kept`() {
        var tally = RunTally()
        let violation = Violation(invariant: .deliveredOnceInOrder, at: 5, detail: "5 after 5")
        for seed in UInt64(1)...20 { tally.add(result(21 - seed, [violation])) }
        #expect(tally.failureCount == 20)
        #expect(tally.failures.map(\.seed) == [1, 2, 3, 4, 5])
        #expect(tally.json(realTime: .seconds(1))["firstFailedSeed"] == .integer(1))
    }

    @Test func `the table contains the ratio of virtual to real time`() {
        #expect(tally([1, 2]).linesOfSimulations(realTime: .seconds(1)).contains { $0.hasSuffix("120 times as fast") })
    }
}
