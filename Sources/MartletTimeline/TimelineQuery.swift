/// A text to search for, as an expression of FTS5.
struct TimelineQuery {
    /// The maximum number of words. Further ones are ignored.
    static let maxWordCount = 16
    /// The maximum number of bytes of a word. Longer ones are cut.
    static let maxWordByteCount = 128

    private let words: [String]

    /// Splits a text into words; nil if it has no letter and no digit.
    init?(_ text: String) {
        let words = text.split { !$0.isLetter && !$0.isNumber }.prefix(Self.maxWordCount)
        guard !words.isEmpty else { return nil }
        self.words = words.map { word in
            var word = word
            while word.utf8.count > Self.maxWordByteCount { word.removeLast() }
            return String(word)
        }
    }

    /// The expression for entries with all words, the last one as a prefix, of one room or all.
    func expression(room: Int64?) -> String {
        var terms = words.map { "(text : \"\($0)\")" }
        terms[terms.count - 1] = "(text : \"\(words[words.count - 1])\" *)"
        if let room { terms.append("(room : \"\(room)\")") }
        return terms.joined(separator: " AND ")
    }
}
