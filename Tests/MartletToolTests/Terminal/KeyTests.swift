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

    @Test func `a sequence of keys in one piece → all keys`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Self.script.utf8) == Self.keys)
    }

    @Test func `a sequence of keys split at any byte → the same keys`() {
        let bytes = Array(Self.script.utf8)
        for split in 1..<bytes.count where bytes[split - 1] != 0x1B {
            var decoder = KeyDecoder()
            #expect(decoder.decode(bytes[..<split]) + decoder.decode(bytes[split...]) == Self.keys)
        }
    }

    @Test func `a single escape byte → the escape key`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]) == [.escape])
        #expect(decoder.decode([0x1B, UInt8(ascii: "x")]) == [.escape, .character("x")])
    }

    @Test func `unknown sequences are ignored`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0xFF, 0x00, 0x80] + "\u{1B}[99~q".utf8) == [.character("q")])
        #expect(decoder.decode("\u{1B}[".utf8 + Array(repeating: UInt8(ascii: "1"), count: 100)) == [])
        #expect(decoder.decode("q".utf8) == [.character("q")])
    }

    @Test func `pasted text beyond the bound is divided`() {
        var decoder = KeyDecoder()
        let text = String(repeating: "x", count: KeyDecoder.maxPasteByteCount + 10)
        let keys = decoder.decode(Array("\u{1B}[200~\(text)\u{1B}[201~".utf8))
        #expect(keys == [.paste(String(text.prefix(KeyDecoder.maxPasteByteCount)))])
    }
}
