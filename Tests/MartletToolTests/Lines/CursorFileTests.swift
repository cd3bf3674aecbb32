import Foundation
import Martlet
import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct CursorFileTests {
    private let lobby = RoomName("lobby")

    @Test func `a written cursor is read and replaced`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            #expect(try CursorFile(path: path, room: lobby).cursor == nil)
            for offset: UInt64 in [1, 100_000, 2] {
                try CursorFile(path: path, room: lobby).write(RoomCursor(offset: offset))
                #expect(try CursorFile(path: path, room: lobby).cursor == Cursor(RoomCursor(offset: offset), of: lobby))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cursor"])
        }
    }

    @Test func `a second process is refused until the first one ends, after any number of writes`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            let taken = CommandError(.cannotCreate, "\(path) is in use by another process")
            var first: CursorFile? = try CursorFile(path: path, room: lobby)
            for offset: UInt64 in 1...3 {
                #expect(throws: taken) { try CursorFile(path: path, room: lobby) }
                try first?.write(RoomCursor(offset: offset))
            }
            #expect(throws: taken) { try CursorFile(path: path, room: lobby) }
            first = nil
            #expect(try CursorFile(path: path, room: lobby).cursor == Cursor(RoomCursor(offset: 3), of: lobby))
        }
    }

    @Test func `a file without a cursor is an error and not changed`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            try Data("a letter to a friend\n".utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: CommandError.self) { try CursorFile(path: path, room: lobby) }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "a letter to a friend\n")
        }
    }

    @Test func `a file of room lobby is refused for room other and not changed`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            try CursorFile(path: path, room: lobby).write(RoomCursor(log: LogID(rawValue: 7), offset: 5))
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let other = RoomName("other")
            let refused = CommandError(
                .usage, "\(path) contains the cursor of room lobby, not of other, and is not changed")
            #expect(throws: refused) { try CursorFile(path: path, room: other) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            #expect(try CursorFile(path: path, room: lobby).cursor?.room.offset == 5)
        }
    }

    @Test func `a file without a room, from an earlier version, is accepted and receives the room`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/cursor"
            try Data("martlet-cursor 5 log=7\n".utf8).write(to: URL(fileURLWithPath: path))
            let file = try CursorFile(path: path, room: lobby)
            #expect(file.cursor == Cursor(RoomCursor(log: LogID(rawValue: 7), offset: 5)))
            try file.write(RoomCursor(log: LogID(rawValue: 7), offset: 6))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "martlet-cursor 6 log=7 room=lobby\n")
        }
    }

    @Test(arguments: [("c", "."), ("cursor", "."), ("/c", "/"), ("a/c", "a"), ("./c", "."), ("/var/tmp/c", "/var/tmp")])
    func `a path → its folder`(path: String, folder: String) {
        #expect(Folder.parent(of: path) == folder)
    }

    @Test func `a missing folder → an error`() {
        #expect(throws: CommandError.self) { try CursorFile(path: "/nowhere/at/all", room: lobby) }
    }
}
