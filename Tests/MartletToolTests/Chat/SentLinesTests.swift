import Martlet
import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct SentLinesTests {
    @Test func `a line without a message counts as unsent`() {
        let sentLines = SentLines()
        #expect(sentLines.begin("hi") == 1)
        #expect(sentLines.begin("again") == 2)
        #expect(sentLines.unsent == ["hi", "again"])
    }

    @Test func `at most ten unaccepted lines are reported, the last ones`() {
        #expect(SentLines.report([]) == [])
        #expect(SentLines.report(["h\u{1B}i"]) == ["martlet: 1 line was not accepted by the relay:", "  h\u{FFFD}i"])
        let many = SentLines.report((1...12).map { "line \($0)" })
        #expect(many.first == "martlet: 12 lines were not accepted by the relay, the last of them:")
        #expect(many.dropFirst() == (3...12).map { "  line \($0)" }[...])
    }
}
