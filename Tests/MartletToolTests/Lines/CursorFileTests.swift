import Foundation
import Martlet
import Testing

@testable import MartletTool

@Suite struct CursorFileTests {
    @Test func `written, read, replaced`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            #expect(try CursorFile(path: path).cursor == nil)
            for offset: UInt64 in [1, 100_000, 2] {
                try CursorFile(path: path).write(Cursor(RoomCursor(offset: offset)))
                #expect(try CursorFile(path: path).cursor == Cursor(RoomCursor(offset: offset)))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cursor"])
        }
    }

    @Test func `a second user is refused until the first is gone, however often that one writes`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            let taken = CommandError(.cannotCreate, "\(path) is in use by another process")
            var first: CursorFile? = try CursorFile(path: path)
            for offset: UInt64 in 1...3 {
                #expect(throws: taken) { try CursorFile(path: path) }
                try first?.write(Cursor(RoomCursor(offset: offset)))
            }
            #expect(throws: taken) { try CursorFile(path: path) }
            first = nil
            #expect(try CursorFile(path: path).cursor == Cursor(RoomCursor(offset: 3)))
        }
    }

    @Test func `what is no cursor is an error and left alone`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            try Data("a letter to a friend\n".utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: CommandError.self) { try CursorFile(path: path) }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "a letter to a friend\n")
        }
    }

    @Test func `a folder that is not there`() {
        #expect(throws: CommandError.self) { try CursorFile(path: "/nowhere/at/all") }
    }
}
