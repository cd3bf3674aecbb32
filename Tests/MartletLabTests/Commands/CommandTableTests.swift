import MartletToolSupport
import MartletToolTestSupport
import Testing

@testable import MartletLab

@Suite struct CommandTableTests {
    @Test func `every command → complete help without duplicate options`() {
        expectCompleteHelp(of: CommandTable.program)
    }
}
