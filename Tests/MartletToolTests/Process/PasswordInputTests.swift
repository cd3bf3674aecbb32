import Foundation
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct PasswordInputTests {
    @Test(arguments: [("a b\nc", "a b"), ("", ""), ("é", "é"), ("\n", "")])
    func `bytes -> the first line without its end`(text: String, line: String) throws {
        #expect(try PasswordInput.line(Array(text.utf8)) == line)
    }

    @Test func `a line that is too long or not UTF-8 -> an error`() {
        for bytes in [[UInt8](repeating: 0x61, count: 4097), [0xFF]] {
            #expect(throws: CommandError.self) { try PasswordInput.line(bytes) }
        }
    }

    @Test func `input in pieces -> its first line`() async throws {
        let pipe = Pipe()
        let input = StandardInput(pipe.fileHandleForReading.fileDescriptor)
        pipe.fileHandleForWriting.write(Data("open ".utf8))
        async let line = PasswordInput.read(input)
        pipe.fileHandleForWriting.write(Data("sesame\nmore".utf8))
        #expect(try await line == "open sesame")
        try pipe.fileHandleForWriting.close()
        withExtendedLifetime(pipe) {}
    }

    @Test func `input without a line feed -> all of it`() async throws {
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data("sesame".utf8))
        try pipe.fileHandleForWriting.close()
        #expect(try await PasswordInput.read(StandardInput(pipe.fileHandleForReading.fileDescriptor)) == "sesame")
        withExtendedLifetime(pipe) {}
    }
}
