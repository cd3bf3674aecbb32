import Martlet
import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct SaidLinesTests {
    @Test func `a line without a message counts as unsent`() {
        let said = SaidLines()
        #expect(said.begin("hi") == 1)
        #expect(said.begin("again") == 2)
        #expect(said.unsent == ["hi", "again"])
    }

    @Test func `at most ten unaccepted lines are reported, the last ones`() {
        #expect(SaidLines.report([]) == [])
        #expect(SaidLines.report(["h\u{1B}i"]) == ["martlet: 1 line was not accepted by the relay:", "  h\u{FFFD}i"])
        let many = SaidLines.report((1...12).map { "line \($0)" })
        #expect(many.first == "martlet: 12 lines were not accepted by the relay, the last of them:")
        #expect(many.dropFirst() == (3...12).map { "  line \($0)" }[...])
    }
}
