import Testing

@testable import MartletToolSupport

@Suite struct LineSplitterTests {
    private func pieces(_ text: String, max: Int = 100, chunk: Int = 100) -> [String] {
        var splitter = LineSplitter(maxPieceByteCount: max)
        let bytes = Array(text.utf8)
        var pieces: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: chunk) {
            pieces += splitter.split(bytes[start..<min(start + chunk, bytes.count)])
        }
        if let rest = splitter.finish() { pieces.append(rest) }
        return pieces.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [1, 2, 3, 7]) func `the lines do not depend on the pieces of the input`(chunk: Int) {
        #expect(pieces("one\n\ntwo\r\nthree", chunk: chunk) == ["one\n", "\n", "two\r\n", "three"])
    }

    @Test func `an empty input has no lines`() {
        #expect(pieces("") == [])
        #expect(pieces("\n") == ["\n"])
    }

    @Test func `a line that is too long is divided, and its newline may be a separate piece`() {
        #expect(pieces("abcdefgh\nx\n", max: 4) == ["abcd", "efgh", "\n", "x\n"])
        #expect(pieces("abc\n", max: 4) == ["abc\n"])
    }
}
