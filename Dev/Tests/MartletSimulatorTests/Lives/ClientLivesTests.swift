import MartletSimulator
import Testing

@Suite("Lives of clients")
struct ClientLivesTests {
    @Test("no invariant is violated", arguments: 1...12 as ClosedRange<UInt64>)
    func invariants(seed: UInt64) {
        let result = ClientLives.run(seed: seed, duration: .seconds(600))
        #expect(result.violations.map(\.description) == [])
        #expect(result.deliveryCount > 0)
    }

    @Test("the same seed gives the same trace", arguments: 1...3 as ClosedRange<UInt64>)
    func determinism(seed: UInt64) {
        let first = ClientLives.run(seed: seed, duration: .seconds(300), keepsTrace: true)
        let second = ClientLives.run(seed: seed, duration: .seconds(300), keepsTrace: true)
        let pairs = zip(first.trace, second.trace)
        #expect(pairs.first { $0 != $1 }.map { "\($0) \($1)" } == nil)
        #expect(first.traceHash == second.traceHash)
    }
}
