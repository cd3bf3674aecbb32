import Testing

@testable import MartletToolSupport

@Suite struct InputFileTests {
    @Test func `a missing file, a folder and an endless file -> errors with the text of the system or the bound`() {
        #expect(throws: CommandError(.noInput, "cannot read the tokens in /nonexistent: No such file or directory")) {
            try InputFile.read("/nonexistent", "the tokens")
        }
        #expect(throws: CommandError(.noInput, "cannot read the tokens in /: Is a directory")) {
            try InputFile.read("/", "the tokens")
        }
        #expect(throws: CommandError(.noInput, "/dev/zero has more than 64 MiB")) {
            try InputFile.read("/dev/zero", "the tokens")
        }
    }

    @Test func `an empty file -> no bytes`() throws {
        #expect(try InputFile.read("/dev/null", "the tokens").isEmpty)
    }
}
