import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct KeyTests {
    private static let script =
        "aé日🐦\r\u{7F}\u{1B}[A\u{1B}[3~\u{1B}OH\u{1B}[1;5C\u{1B}b\u{3}\t\u{1B}[200~x\r\ny\u{1B}[A\u{1B}[201~z"
    private static let keys: [Key] = [
        .character("a"), .character("é"), .character("日"), .character("🐦"), .enter, .backspace, .up, .delete, .home,
        .wordRight, .wordLeft, .control("c"), .tab, .paste("x\r\ny\u{1B}[A"), .character("z"),
    ]

    @Test func `all keys at once`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Self.script.utf8) == Self.keys)
    }

    @Test func `wherever the bytes are split, but for a lone escape`() {
        let bytes = Array(Self.script.utf8)
        for split in 1..<bytes.count where bytes[split - 1] != 0x1B {
            var decoder = KeyDecoder()
            #expect(decoder.decode(bytes[..<split]) + decoder.decode(bytes[split...]) == Self.keys)
        }
    }

    @Test func `a lone escape is the key`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]) == [.escape])
        #expect(decoder.decode([0x1B, UInt8(ascii: "x")]) == [.escape, .character("x")])
    }

    @Test func `what means nothing is passed over`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0xFF, 0x00, 0x80] + "\u{1B}[99~q".utf8) == [.character("q")])
        #expect(decoder.decode("\u{1B}[".utf8 + Array(repeating: UInt8(ascii: "1"), count: 100)) == [])
        #expect(decoder.decode("q".utf8) == [.character("q")])
    }

    @Test func `a pasted text has a bound`() {
        var decoder = KeyDecoder()
        let text = String(repeating: "x", count: KeyDecoder.maxPasteByteCount + 10)
        let keys = decoder.decode(Array("\u{1B}[200~\(text)\u{1B}[201~".utf8))
        #expect(keys == [.paste(String(text.prefix(KeyDecoder.maxPasteByteCount)))])
    }
}
