import Foundation
import Martlet
import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct LineBufferTests {
    @Test func `lines added during a write are one batch`() async {
        let buffer = LineBuffer()
        await buffer.add([1], at: RoomCursor(offset: 1))
        await buffer.add([2, 3], at: RoomCursor(offset: 2))
        #expect(await buffer.take() == .init(bytes: [1, 2, 3], cursor: RoomCursor(offset: 2)))
        await buffer.add([], at: RoomCursor(offset: 3))
        buffer.finish()
        #expect(await buffer.take() == .init(bytes: [], cursor: RoomCursor(offset: 3)))
        #expect(await buffer.take() == nil)
        #expect(await buffer.take() == nil)
    }

    @Test func `the writer waits for the receiver`() async {
        let buffer = LineBuffer()
        async let taken = buffer.take()
        await buffer.add([7], at: RoomCursor(offset: 7))
        #expect(await taken == .init(bytes: [7], cursor: RoomCursor(offset: 7)))
    }

    @Test func `the receiver waits while the buffer is full, and no line is lost`() async {
        let buffer = LineBuffer()
        let piece = [UInt8](repeating: 9, count: LineBuffer.maxByteCount / 4)
        async let added: Void = {
            for offset in 1...40 as ClosedRange<UInt64> { await buffer.add(piece, at: RoomCursor(offset: offset)) }
            buffer.finish()
        }()
        var byteCount = 0
        var last: UInt64?
        while let batch = await buffer.take() {
            #expect(batch.bytes.count < LineBuffer.maxByteCount + piece.count)
            byteCount += batch.bytes.count
            last = batch.cursor?.offset
        }
        await added
        #expect(byteCount == piece.count * 40)
        #expect(last == 40)
    }

    @Test func `lines are written when the next batch is requested`() async {
        let buffer = LineBuffer()
        #expect(buffer.isEmpty)
        await buffer.add([1], at: RoomCursor(offset: 1))
        #expect(!buffer.isEmpty)
        #expect(await buffer.take()?.bytes == [1])
        #expect(!buffer.isEmpty)
        buffer.finish()
        #expect(await buffer.take() == nil)
        #expect(buffer.isEmpty)
    }
}

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
