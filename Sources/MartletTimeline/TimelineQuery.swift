/// A text to search for, as an expression of FTS5.
struct TimelineQuery {
    /// The maximum number of words. Further ones are ignored.
    static let maxWordCount = 16
    /// The maximum number of bytes of a word. Longer ones are cut.
    static let maxWordByteCount = 128

    /// The phrases of each word, one of which has to be found.
    private let words: [[String]]

    /// Splits a text at white space; nil if it has no letter, no digit and no symbol.
    init?(_ text: String) {
        let pieces = text.split { $0.isWhitespace }.lazy.map { piece in
            var piece = piece
            while piece.utf8.count > Self.maxWordByteCount { piece.removeLast() }
            return SearchText(String(piece))
        }
        let chunks = pieces.flatMap(\.chunks).prefix(Self.maxWordCount)
        guard !chunks.isEmpty else { return nil }
        words = chunks.enumerated().map { index, chunk in
            let isLast = index == chunks.count - 1
            let phrase = Self.phrase(chunk, isLast: isLast, isSpelled: false)
            let spelled = Self.phrase(chunk, isLast: isLast, isSpelled: true)
            return spelled == phrase ? [phrase] : [phrase, spelled]
        }
    }

    /// The terms of a chunk, which follow each other. The last one of the text is a prefix, and so is a single
    /// character of a script without spaces, which begins a pair.
    private static func phrase(_ chunk: [SearchText.Part], isLast: Bool, isSpelled: Bool) -> String {
        var terms: [String] = []
        var isPrefix = isLast
        for part in chunk {
            switch part {
            case .word(let word, let spelled): terms.append(isSpelled ? spelled ?? word : word)
            case .symbol(let symbol): terms.append(symbol)
            case .run(let run): terms += run.count > 1 ? SearchText.pairs(run) : run
            }
        }
        if case .run(let run)? = chunk.last, run.count == 1 { isPrefix = true }
        return "(text : \"\(terms.joined(separator: " "))\"\(isPrefix ? " *" : ""))"
    }

    /// The expression for entries with all words, of one room or all.
    func expression(room: Int64?) -> String {
        var terms = words.map { $0.count == 1 ? $0[0] : "(\($0.joined(separator: " OR ")))" }
        if let room { terms.append("(room : \"\(room)\")") }
        return terms.joined(separator: " AND ")
    }
}
