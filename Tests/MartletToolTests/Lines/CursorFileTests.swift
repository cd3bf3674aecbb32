import Foundation
import Martlet
import Testing

@testable import MartletTool

@Suite struct CursorFileTests {
    @Test func `written, read, replaced`() throws {
        try withTemporaryFolder { folder in
            let file = CursorFile(path: folder + "/cursor")
            #expect(try file.read() == nil)
            for offset: UInt64 in [1, 100_000, 2] {
                try file.write(Cursor(RoomCursor(offset: offset)))
                #expect(try file.read() == Cursor(RoomCursor(offset: offset)))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cursor"])
        }
    }

    @Test func `what is no cursor is an error and left alone`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            try Data("a letter to a friend\n".utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: CommandError.self) { try CursorFile(path: path).read() }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "a letter to a friend\n")
        }
    }

    @Test func `a folder that is not there`() {
        #expect(throws: CommandError.self) {
            try CursorFile(path: "/nowhere/at/all").write(Cursor(RoomCursor(offset: 1)))
        }
    }
}
