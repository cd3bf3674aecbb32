import Martlet
import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct CursorTests {
    @Test(arguments: [
        Cursor(RoomCursor(offset: 0)), Cursor(RoomCursor(offset: .max)),
        Cursor(RoomCursor(log: LogID(rawValue: 0), offset: 7)),
        Cursor(RoomCursor(log: LogID(rawValue: .max), offset: 7), place: .init(device: 1, file: 2, byteCount: 3)),
        Cursor(RoomCursor(offset: 7), of: RoomName("lobby")),
        Cursor(RoomCursor(offset: 7), of: RoomName("two words, 100 % é 日本 room=x")),
        Cursor(
            RoomCursor(log: LogID(rawValue: 9), offset: 7), of: RoomName("1 2 3"),
            place: .init(device: 1, file: 2, byteCount: 3)),
        Cursor(RoomCursor(offset: 7), place: .init(device: 1, file: 2, byteCount: 3)),
    ])
    func `a cursor equals its parsed text`(cursor: Cursor) {
        #expect(Cursor(cursor.text) == cursor)
    }

    @Test(arguments: [
        "", "\n", "7\n", "martlet-cursor 7", "martlet-cursor\n", "martlet-cursor x\n", "martlet-cursor 1 2\n",
        "martlet-cursor  7\n", "martlet-cursor 7\nmore\n", "martlet-cursor -1\n",
        "martlet-cursor 7 log=\n", "martlet-cursor 7 log=x\n", "martlet-cursor log=7\n",
        "martlet-cursor 7 room=\n", "martlet-cursor 7 room=%\n", "martlet-cursor 7 room=%0A\n",
        "martlet-cursor 7 room=%4\n", "martlet-cursor 7 room=%+1\n", "martlet-cursor 7 room=%FF\n",
        "martlet-cursor 7 room=a room=b\n", "martlet-cursor 7 room=a log=1\n",
    ])
    func `an invalid text → no cursor`(text: String) {
        #expect(Cursor(text) == nil)
    }

    @Test func `the longest name of a room fits into the longest text`() throws {
        let name = try #require(RoomName(String(repeating: "日", count: 42)))
        let place = Cursor.Place(device: .max, file: .max, byteCount: .max)
        let cursor = Cursor(RoomCursor(log: LogID(rawValue: .max), offset: .max), of: name, place: place)
        #expect(cursor.text.utf8.count < Cursor.maxTextByteCount)
        #expect(Cursor(cursor.text) == cursor)
    }

    @Test func `bytes that were already written are removed`() {
        var tail = WrittenTail(Array("one\ntw".utf8))
        #expect(tail.remove(from: Array("one\n".utf8)) == [])
        #expect(tail.remove(from: Array("two\n".utf8)) == ArraySlice("o\n".utf8))
        #expect(tail.remove(from: Array("two\n".utf8)) == ArraySlice("two\n".utf8))
    }

    @Test func `after different bytes everything is written`() {
        var tail = WrittenTail(Array("other\n".utf8))
        #expect(tail.remove(from: Array("one\n".utf8)) == ArraySlice("one\n".utf8))
        #expect(tail.remove(from: Array("other\n".utf8)) == ArraySlice("other\n".utf8))
    }
}
