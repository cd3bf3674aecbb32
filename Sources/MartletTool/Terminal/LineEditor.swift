/// The editor of the line that the user is typing, with a history of previous lines.
struct LineEditor: Equatable, Sendable {
    /// The result of a key.
    enum Answer: Equatable, Sendable {
        /// The line or the cursor has changed.
        case edited
        /// The line is submitted, and a new one begins.
        case submitted(String)
        /// The key has no meaning.
        case ignored
    }

    /// The maximum number of lines in the history.
    static let maxHistoryCount = 200

    private(set) var characters: [Character] = []
    /// The index of the character after the cursor.
    private(set) var cursor = 0
    private var history: [String] = []
    /// The index of the shown line in the history, from the newest; 0 is the new line.
    private var recalled = 0
    private var unfinished: [Character] = []

    init() {}

    /// The text of the line.
    var text: String { String(characters) }

    /// Processes a key.
    mutating func press(_ key: Key) -> Answer {
        switch key {
        case .character(let character): insert([character])
        case .paste(let text): insert(text.map { $0 == "\r\n" || $0 == "\r" ? "\n" : $0 })
        case .enter: return submit()
        case .backspace, .control("h"): remove(max(cursor - 1, 0)..<cursor)
        case .delete, .control("d"): remove(cursor..<min(cursor + 1, characters.count))
        case .left, .control("b"): cursor = max(cursor - 1, 0)
        case .right, .control("f"): cursor = min(cursor + 1, characters.count)
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = characters.count
        case .wordLeft: cursor = wordStart
        case .wordRight: cursor = wordEnd
        case .control("w"): remove(wordStart..<cursor)
        case .control("u"): remove(0..<cursor)
        case .control("k"): remove(cursor..<characters.count)
        case .up, .control("p"): recall(recalled + 1)
        case .down, .control("n"): recall(recalled - 1)
        default: return .ignored
        }
        return .edited
    }

    private mutating func insert(_ new: [Character]) {
        characters.insert(contentsOf: new, at: cursor)
        cursor += new.count
    }

    private mutating func remove(_ range: Range<Int>) {
        characters.removeSubrange(range)
        cursor = range.lowerBound
    }

    private mutating func submit() -> Answer {
        let line = text
        if !line.isEmpty, line != history.last {
            history.append(line)
            if history.count > Self.maxHistoryCount { history.removeFirst() }
        }
        characters = []
        cursor = 0
        recalled = 0
        return .submitted(line)
    }

    private mutating func recall(_ number: Int) {
        guard (0...history.count).contains(number) else { return }
        if recalled == 0 { unfinished = characters }
        recalled = number
        characters = number == 0 ? unfinished : Array(history[history.count - number])
        cursor = characters.count
    }

    private var wordStart: Int {
        var index = cursor
        while index > 0, characters[index - 1].isWhitespace { index -= 1 }
        while index > 0, !characters[index - 1].isWhitespace { index -= 1 }
        return index
    }

    private var wordEnd: Int {
        var index = cursor
        while index < characters.count, characters[index].isWhitespace { index += 1 }
        while index < characters.count, !characters[index].isWhitespace { index += 1 }
        return index
    }
}
