import MartletToolSupport
import MartletToolTestSupport
import Testing

@testable import MartletLab

@Suite struct ProgramTests {
    @Test func `every command → complete help without duplicate options`() {
        expectCompleteHelp(of: MartletLab.program)
    }
}
