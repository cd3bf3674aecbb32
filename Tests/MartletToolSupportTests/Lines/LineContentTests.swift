import MartletWire
import Testing

@testable import MartletToolSupport

@Suite struct LineContentTests {
    private static let pieces: [[UInt8]] = [
        Array("hello\n".utf8), Array("\n".utf8), Array("no end".utf8), Array("carriage\r\n".utf8), [0xFF, 0x0A], [0],
        [0, 0x0A], Array("e\u{301}\n".utf8), Array("\u{E9}\n".utf8), Array("\u{FEFF}bom\n".utf8),
        [0xED, 0xA0, 0x80, 0x0A],
    ]

    @Test(arguments: pieces) func `every piece equals its parsed content`(piece: [UInt8]) throws {
        let content = LineContent(piece: piece)
        let back = try #require(LineContent(kind: content.kind, content: content.encoded))
        #expect(back.output == piece)
        try ContentRules.check(content.encoded.rawBytes, of: content.kind)
    }

    @Test func `a line of text has the content of a chat message`() {
        #expect(LineContent(piece: Array("hello\n".utf8)) == .text("hello"))
        #expect(LineContent(piece: Array("hello\n".utf8)).kind == .text)
        #expect(LineContent(piece: [0x0A]) == .bytes([0x0A]))
        #expect(LineContent.bytesKind.isApplicationDefined)
    }

    @Test func `contents of other kinds are no lines`() {
        #expect(LineContent(kind: .image, content: LineContent.bytes([1]).encoded) == nil)
        #expect(LineContent(kind: .text, content: []) == nil)
        #expect(LineContent(kind: LineContent.bytesKind, content: [1, 2, 3]) == nil)
    }
}
