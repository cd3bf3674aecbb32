import Foundation
import Martlet
import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct LineOutputTests {
    private let lobby = RoomName("lobby")

    @Test func `lines written before a missing cursor are not repeated`() throws {
        try withTemporaryFolder { folder in
            let output = folder + "/out"
            let cursor = folder + "/cursor"
            try run(output, cursor) { try $0.write(Array("one\n".utf8), upTo: RoomCursor(offset: 1)) }
            // Two lines and a half after the last cursor.
            try run(output, nil) { try $0.write(Array("two\nthree\nfo".utf8), upTo: RoomCursor(offset: 4)) }
            #expect(try CursorFile(path: cursor, room: lobby).cursor?.room.offset == 1)
            try run(output, cursor) {
                try $0.write(Array("two\n".utf8), upTo: RoomCursor(offset: 2))
                try $0.write(Array("three\nfour\n".utf8), upTo: RoomCursor(offset: 4))
                try $0.write(Array("five\n".utf8), upTo: RoomCursor(offset: 5))
            }
            #expect(try String(contentsOfFile: output, encoding: .utf8) == "one\ntwo\nthree\nfour\nfive\n")
            #expect(try CursorFile(path: cursor, room: lobby).cursor?.room.offset == 5)
            #expect(try CursorFile(path: cursor, room: lobby).cursor?.place?.byteCount == 24)
        }
    }

    @Test func `a different file receives all lines`() throws {
        try withTemporaryFolder { folder in
            let cursor = folder + "/cursor"
            try run(folder + "/first", cursor) { try $0.write(Array("one\n".utf8), upTo: RoomCursor(offset: 1)) }
            try run(folder + "/second", nil) { try $0.write(Array("one\ntwo\n".utf8), upTo: RoomCursor(offset: 2)) }
            try run(folder + "/second", cursor) { try $0.write(Array("two\n".utf8), upTo: RoomCursor(offset: 2)) }
            #expect(try String(contentsOfFile: folder + "/second", encoding: .utf8) == "one\ntwo\ntwo\n")
        }
    }

    private func run(_ path: String, _ cursor: String?, _ body: (inout LineOutput) throws -> Void) throws {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.seekToEnd()
        let cursorFile = try cursor.map { try CursorFile(path: $0, room: lobby) }
        var output = LineOutput(to: file.fileDescriptor, cursorFile: cursorFile)
        try body(&output)
        try file.close()
    }
}
