import MartletSimulator
import Testing

@testable import MartletLab

@Suite struct SimulationStoreTests {
    // C-74
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a simulated conversation with the store and outboxes in files -> no violation, as with those in memory`(
        seed: UInt64
    ) {
        let scenario = Scenario(seed: seed)
        let result = Simulation.run(
            scenario, store: SimulationStoreKind.sqlite.make(), outbox: SimulationStoreKind.sqlite.makeOutbox)
        #expect(result.violations.isEmpty, "\(result.violations)")
        #expect(result.messageCount == Simulation.run(scenario).messageCount)
        #expect(SimulationStoreKind.memory.make() == nil && SimulationStoreKind.memory.makeOutbox == nil)
    }
}
