import MartletDecode
import MartletToolSupport

/// A parser of bytes written as text: plain hexadecimal, and the output of xxd, `hexdump -C` and `od -t x1`.
///
/// An offset before a line is skipped: a word with a colon at its end, or, if the first line has one, the number of
/// bytes before the line in base 16, 8 or 10. Text after `|`, `#` or two blanks is also skipped.
struct HexReader: Sendable {
    /// The maximum number of bytes of a line.
    static let maxLineByteCount = 1 << 20

    private var lineNumber = 0
    private var byteCount = 0
    private var hasOffsets: Bool?

    /// Returns the bytes of the next line.
    mutating func read(_ line: [UInt8]) throws(InputError) -> [UInt8] {
        lineNumber += 1
        guard line.count < Self.maxLineByteCount else { throw error("a line of 1 MiB or more") }
        let end = line.firstIndex { [UInt8(ascii: "|"), UInt8(ascii: "#")].contains($0) } ?? line.count
        var words = Self.words(line[..<end])[...]
        guard let first = words.first else { return [] }
        if first.text == "*" { throw error("'*' represents omitted bytes; use -v for the dump") }
        var stopsAtGap = false
        if first.text.hasSuffix(":") {
            stopsAtGap = true
            words.removeFirst()
        } else if isOffset(first.text) {
            words.removeFirst()
        }
        var bytes: [UInt8] = []
        for (index, word) in words.enumerated() {
            if index > 0, word.followsGap, stopsAtGap { break }
            guard let value = Self.bytes(word.text) else {
                // Words after two blanks are a comment.
                if !bytes.isEmpty, word.followsGap { break }
                throw error("'\(SafeText.line(word.text.prefix(20)))' is not a hexadecimal number of whole bytes")
            }
            bytes += value
        }
        byteCount += bytes.count
        return bytes
    }

    private struct Word {
        var text: Substring
        /// Whether at least two blanks precede the word.
        var followsGap: Bool
    }

    private static func words(_ line: ArraySlice<UInt8>) -> [Word] {
        var words: [Word] = []
        var rest = Substring(decoding: line, as: UTF8.self)
        while true {
            let word = rest.drop(while: isBlank)
            let blanks = rest[..<word.startIndex]
            let text = word.prefix { !isBlank($0) }
            if text.isEmpty { return words }
            words.append(Word(text: text, followsGap: blanks.count > 1 || blanks.contains("\t")))
            rest = word[text.endIndex...]
        }
    }

    private static func isBlank(_ character: Character) -> Bool {
        character == "," || character.isWhitespace
    }

    private static func bytes(_ word: Substring) -> [UInt8]? {
        let digits = Array((word.hasPrefix("0x") ? word.dropFirst(2) : word).utf8)
        guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digit(digits[index]), let low = digit(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private mutating func isOffset(_ word: Substring) -> Bool {
        let saysCount = word.count > 3 && [16, 8, 10].contains { Int(word, radix: $0) == byteCount }
        if hasOffsets == nil { hasOffsets = saysCount }
        return hasOffsets == true && saysCount
    }

    private func error(_ problem: String) -> InputError {
        .hex(line: lineNumber, problem: problem)
    }
}
