import Foundation
import MartletToolTestSupport
import Testing

@testable import MartletLab
@testable import MartletToolSupport

@Suite struct DemoTextTests {
    @Test func `the default text contains the files of a folder in order, links included`() throws {
        try withTemporaryFolder { folder in
            let line = String(repeating: "x", count: 99) + "\n"
            try Data(String(repeating: line, count: 3_000).utf8).write(to: URL(fileURLWithPath: folder + "/B"))
            try Data("first\n".utf8).write(to: URL(fileURLWithPath: folder + "/A"))
            try FileManager.default.createSymbolicLink(atPath: folder + "/C", withDestinationPath: "B")
            try FileManager.default.createDirectory(atPath: folder + "/D", withIntermediateDirectories: true)
            let text = DemoText.defaultText(folder)
            #expect(text.lineCount == 6_001)
            #expect(text.repetitionCount == 1)
            #expect(text.bytes.starts(with: "first\nxxx".utf8))
        }
    }

    @Test func `without licenses the default text consists of numbered lines`() {
        let text = DemoText.defaultText("/nowhere/at/all")
        #expect(text.lineCount >= DemoText.minLineCount)
        #expect(text.bytes.count >= DemoText.minByteCount)
    }

    @Test func `a small file is repeated, a large one is not`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/small"
            try Data("no end of line".utf8).write(to: URL(fileURLWithPath: path))
            let text = try DemoText.load(path)
            #expect(text.bytes.count >= DemoText.minByteCount)
            #expect(text.lineCount == 1)
            #expect(text.bytes.count == 14 * text.repetitionCount)
            try Data(count: DemoText.minByteCount).write(to: URL(fileURLWithPath: path))
            #expect(try DemoText.load(path).repetitionCount == 1)
        }
    }

    @Test func `a missing or empty file → an error`() throws {
        #expect(throws: CommandError.self) { try DemoText.load("/nowhere/at/all") }
        #expect(throws: CommandError.self) { try DemoText.load("/dev/null") }
    }
}
