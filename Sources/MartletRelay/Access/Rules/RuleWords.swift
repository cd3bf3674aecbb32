/// The words of a line of rules.
///
///     line   = [blanks] [comment / word *(blanks word)] [blanks]
///     word   = 1*(character / quoted)
///     quoted = %x22 *(text / "\" %x22 / "\" "\") %x22
///     blanks = spaces, tabs and carriage returns
///
/// A line whose first character other than a blank is `#` is a comment.
enum RuleWords {
    /// Returns the words; none in an empty line and in a comment.
    static func words(of line: String) throws(RoomRulesError.Fault) -> [String] {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var isQuoted = false
        var rest = line.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                isQuoted.toggle()
                word = word ?? String.UnicodeScalarView()
            case "\\" where isQuoted:
                guard let next = rest.popFirst(), next == "\"" || next == "\\" else { throw .invalidQuotes }
                word?.append(next)
            case " " where !isQuoted, "\t" where !isQuoted, "\r" where !isQuoted:
                if let word { words.append(String(word)) }
                word = nil
            case "#" where words.isEmpty && word == nil: return []
            default:
                var longer = word ?? String.UnicodeScalarView()
                longer.append(scalar)
                word = longer
            }
        }
        guard !isQuoted else { throw .invalidQuotes }
        if let word { words.append(String(word)) }
        return words
    }
}
