import MartletTestKit
import Testing

@testable import MartletLab

@Suite struct SimulationStoreTests {
    //
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a simulated conversation with the store on disk -> no violation, as with the one in memory`(
        seed: UInt64
    ) {
        let scenario = Scenario(seed: seed)
        let result = Simulation.run(scenario, store: SimulationStoreKind.sqlite.make())
        #expect(result.violations.isEmpty, "\(result.violations)")
        #expect(result.messageCount == Simulation.run(scenario).messageCount)
        #expect(SimulationStoreKind.memory.make() == nil)
    }
}
