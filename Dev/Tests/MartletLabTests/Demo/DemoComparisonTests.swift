import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct DemoComparisonTests {
    private func compare(_ sent: String, _ received: String) -> DemoComparison {
        DemoComparison(sent: Array(sent.utf8), received: Array(received.utf8))
    }

    @Test func `equal texts are identical`() {
        let comparison = compare("a\n\na\nb", "a\n\na\nb")
        #expect(comparison.isIdentical)
        #expect(comparison.receivedLineCount == 4)
        #expect(comparison.duplicateCount == 0)
        #expect(comparison.lossCount == 0)
    }

    @Test func `duplicate and lost lines are counted`() {
        let comparison = compare("a\nb\nb\nc\n", "a\na\nb\nc\n")
        #expect(!comparison.isIdentical)
        #expect(comparison.duplicateCount == 1)
        #expect(comparison.lossCount == 1)
    }

    @Test func `a different order or a missing newline is not identical`() {
        #expect(!compare("a\nb\n", "b\na\n").isIdentical)
        #expect(compare("a\nb\n", "b\na\n").lossCount == 0)
        #expect(!compare("a\n", "a").isIdentical)
    }
}
