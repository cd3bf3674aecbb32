import MartletSimulator
import Testing

@Suite("Lives of clients")
struct ClientLivesTests {
    @Test("all promises of the public API are kept", arguments: 1...12 as ClosedRange<UInt64>)
    func promises(seed: UInt64) {
        let result = ClientLives.run(seed: seed, duration: .seconds(600))
        #expect(result.broken.map(\.description) == [])
        #expect(result.shownCount > 0)
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
