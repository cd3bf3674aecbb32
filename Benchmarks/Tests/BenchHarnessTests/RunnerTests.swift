import BenchHarness
import Testing

@Suite("Runner")
struct RunnerTests {
    @Test func `subjects alternate their order`() {
        var turns: [String] = []
        let subjects = ["a", "b"].map { name in
            Subject(name) {
                turns.append(name)
                return ["ns": Double(turns.count)]
            }
        }
        let result = Runner(rounds: 3, isVerbose: false).run(Case("case", per: "call", subjects))
        #expect(turns == ["b", "a", "a", "b", "b", "a"])
        #expect(result.samples(of: "a", "ns") == [2, 3, 6])
        #expect(result.samples(of: "b", "ns") == [1, 4, 5])
        #expect(result.subjects == ["a", "b"])
    }

    @Test func `short trials have more rounds`() {
        var calls = 0
        let item = Case("case", per: "call", [Subject("martlet", operations: 1) { calls += 1 }])
        let result = Runner(rounds: 2, isVerbose: false).run(item)
        #expect(result.samples(of: "martlet", "ns")?.count == 2 * Runner.roundsOfShortTrials)
        #expect(calls > 2 * Runner.roundsOfShortTrials)
    }

    private final class Box {
        let number: Int

        init(_ number: Int) {
            self.number = number
        }
    }

    @Test func `allocations of an operation are counted`() throws {
        var kept: [Box] = []
        let subject = Subject("martlet", operations: 10) {
            kept = (0..<10).map { Box($0) }
        }
        let sample = try subject.trial()
        let allocations = try #require(sample["allocations"])
        // Ten objects and the array that holds them.
        #expect(allocations == 1.1)
        #expect(kept.count == 10)
    }
}
