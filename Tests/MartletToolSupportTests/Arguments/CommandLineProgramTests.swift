import CMartletSystem
import Testing

@testable import MartletToolSupport

@Suite struct CommandLineProgramTests {
    @Test func `the arguments of the process → those that the system has passed to it`() {
        #expect(CommandLineProgram.arguments == Array(CommandLine.arguments.dropFirst()))
        #if canImport(Glibc)
            #expect(Int(martlet_argument_count()) == CommandLine.arguments.count)
        #endif
        for index in [-1, martlet_argument_count()] {
            let isMissing = unsafe martlet_argument(index) == nil
            #expect(isMissing)
        }
    }
}
