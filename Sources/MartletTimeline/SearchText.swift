/// The parts of a text that the index and searches have as terms.
///
/// The tokenizer of the index keeps letters, digits and private-use characters, ignores case and diacritics, and splits
/// at everything else. A term that it would not keep is written with private-use characters.
struct SearchText {
    enum Part {
        /// A word of a script with spaces. The other spelling has `ae`, `oe`, `ue` for umlauts.
        case word(String, spelled: String?)
        /// A symbol, such as `+`, `#` or an emoji.
        case symbol(String)
        /// Neighbours in a script without spaces.
        case run([String])
    }

    /// The parts between white space.
    private(set) var chunks: [[Part]] = []
    /// Whether the tokenizer finds all terms in the text itself.
    private(set) var isPlain = true

    private var parts: [Part] = []
    private var word = ""
    private var spelled = ""
    private var isSpelled = false
    private var run: [String] = []

    init(_ text: String) {
        for scalar in text.unicodeScalars { take(scalar) }
        endChunk()
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        let properties = scalar.properties
        guard !properties.isDefaultIgnorableCodePoint else {
            if !word.isEmpty { isPlain = false }
            return
        }
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .privateUse:
            guard scalar.isDense else { return append(scalar) }
            endWord()
            run.append(String(scalar))
        case .nonspacingMark, .spacingMark, .enclosingMark:
            if !run.isEmpty, scalar.isDense { run.append(scalar.encoded) } else { append(mark: scalar) }
        case .mathSymbol, .currencySymbol, .otherSymbol: append(symbol: scalar)
        default:
            if scalar == "#" {
                append(symbol: scalar)
            } else if properties.isWhitespace {
                endChunk()
            } else {
                endPart()
            }
        }
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        endRun()
        switch scalar {
        case "ä", "Ä": append(scalar, spelled: "ae")
        case "ö", "Ö": append(scalar, spelled: "oe")
        case "ü", "Ü": append(scalar, spelled: "ue")
        case "ß", "ẞ":
            word += "ss"
            spelled += "ss"
            isPlain = false
        default:
            word.unicodeScalars.append(scalar)
            spelled.unicodeScalars.append(scalar)
        }
    }

    private mutating func append(_ umlaut: Unicode.Scalar, spelled letters: String) {
        word.unicodeScalars.append(umlaut)
        spelled += letters
        (isSpelled, isPlain) = (true, false)
    }

    /// Diacritics are ignored, except that a separate diaeresis makes an umlaut. Vowel signs belong to their word.
    private mutating func append(mark: Unicode.Scalar) {
        isPlain = false
        if mark == "\u{308}", let letter = word.unicodeScalars.last, "aouAOU".unicodeScalars.contains(letter) {
            spelled += "e"
            isSpelled = true
        } else if mark.value >= 0x900, mark.properties.canonicalCombiningClass.rawValue < 10, !word.isEmpty {
            word += mark.encoded
            spelled += mark.encoded
        }
    }

    private mutating func append(symbol: Unicode.Scalar) {
        endPart()
        parts.append(.symbol(symbol.encoded))
        isPlain = false
    }

    private mutating func endWord() {
        guard !word.isEmpty else { return }
        parts.append(.word(word, spelled: isSpelled ? spelled : nil))
        (word, spelled, isSpelled) = ("", "", false)
    }

    private mutating func endRun() {
        guard !run.isEmpty else { return }
        parts.append(.run(run))
        run = []
        isPlain = false
    }

    private mutating func endPart() {
        endWord()
        endRun()
    }

    private mutating func endChunk() {
        endPart()
        if !parts.isEmpty { chunks.append(parts) }
        parts = []
    }

    // MARK: Index

    /// The text for the index: words, symbols, the pairs of neighbours in runs with the last one, and the other
    /// spellings. It is empty if the tokenizer finds all terms in the text itself.
    ///
    /// - Parameter name: Another text that finds the same entry.
    static func terms(of text: String, name: String?) -> String {
        let found = SearchText(name.map { "\(text) \($0)" } ?? text)
        if found.isPlain, name == nil { return "" }
        var terms: [String] = []
        var spellings: [String] = []
        for part in found.chunks.joined() {
            switch part {
            case .word(let word, let spelled):
                terms.append(word)
                if let spelled { spellings.append(spelled) }
            case .symbol(let symbol): terms.append(symbol)
            case .run(let run): terms += pairs(run) + run.suffix(1)
            }
        }
        return (terms + spellings).joined(separator: " ")
    }

    /// The pairs of neighbours.
    static func pairs(_ run: [String]) -> [String] {
        zip(run, run.dropFirst()).map { $0 + $1 }
    }
}

extension Unicode.Scalar {
    /// Whether the character belongs to a script that is written without spaces, or in which a word has suffixes that
    /// a search leaves out: Thai, Lao, Tibetan, Myanmar, Khmer, Chinese, Japanese and Korean.
    fileprivate var isDense: Bool {
        switch value {
        case 0x0E00...0x0FFF, 0x1000...0x109F, 0x1100...0x11FF, 0x1780...0x17FF, 0x3005...0x3007, 0x3040...0x318F,
            0x31A0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA960...0xA97F, 0xAC00...0xD7FF, 0xF900...0xFAFF,
            0xFF66...0xFFDC, 0x1B000...0x1B16F, 0x20000...0x323AF:
            true
        default: false
        }
    }

    /// A private-use character that the tokenizer keeps. Characters with the same low bits are one term.
    fileprivate var encoded: String {
        Unicode.Scalar(0xF_0000 | value & 0xFFFF).map { String($0) } ?? ""
    }
}
