import MartletToolSupport
import Testing

@testable import MartletLab
@testable import MartletSimulator

@Suite struct SimulationTallyTests {
    private func result(_ seed: UInt64, _ violations: [Violation] = []) -> Simulation.Result {
        Simulation.Result(
            seed: seed, traceHash: seed &* 31, trace: [], violations: violations, wasCancelled: false,
            messageCount: 200, deliveryCount: 600,
            answerCount: 7, pageCount: 3, transferCount: 2, faultCount: 10, connectionCount: 4, handshakeCount: 3,
            resumptionCount: 1,
            virtualTime: .seconds(60),
            settlingTime: .seconds(Int(seed)))
    }

    private func tally(_ seeds: [UInt64]) -> SimulationTally {
        var tally = SimulationTally()
        for seed in seeds { tally.add(result(seed)) }
        return tally
    }

    @Test func `the hash depends on every run and not on their order`() {
        #expect(tally([1, 2, 3]).traceHash == tally([3, 1, 2]).traceHash)
        #expect(tally([1, 2, 3]).traceHash != tally([1, 2, 4]).traceHash)
    }

    @Test func `failed seeds are counted, and the lowest ones are kept`() {
        var tally = SimulationTally()
        let violation = Violation(invariant: .deliveredOnceInOrder, at: 5, detail: "5 after 5")
        for seed in UInt64(1)...20 { tally.add(result(21 - seed, [violation])) }
        #expect(tally.failureCount == 20)
        #expect(tally.failures.map(\.seed) == [1, 2, 3, 4, 5])
        #expect(tally.json(realTime: .seconds(1))["firstFailedSeed"] == .integer(1))
    }

    @Test func `the table contains the ratio of virtual to real time`() {
        #expect(tally([1, 2]).lines(realTime: .seconds(1)).contains { $0.hasSuffix("120 times as fast") })
    }
}
