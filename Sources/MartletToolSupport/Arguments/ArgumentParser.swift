/// An error of a command line that violates the table of its command.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    package var message: String
    /// The message.
    package var description: String { message }

    package init(message: String) {
        self.message = message
    }
}

/// A parser of command lines by a command's table of options.
///
/// `--name VALUE`, `--name=VALUE`, `-n VALUE` and `-nVALUE` are equivalent; `--` ends the options; a single dash is an
/// operand. An option may be given once unless its row permits more, and then with each value once.
package struct ArgumentParser {
    /// The request of a command line.
    package enum Outcome {
        /// Print the help of the command.
        case help
        /// Run the command.
        case run(ParsedArguments)
    }

    private let command: CommandSpec
    private var rest: ArraySlice<String> = []
    private var parsed = ParsedArguments()
    /// The texts of the values of options that may be given more than once.
    private var texts: [String: Set<String>] = [:]

    /// Creates a parser for a command's table.
    package init(for command: CommandSpec) {
        self.command = command
    }

    /// Parses the words after the name of the command.
    package mutating func parse(_ words: [String]) throws(UsageError) -> Outcome {
        rest = words[...]
        (parsed, texts) = (ParsedArguments(), [:])
        while let word = rest.popFirst() {
            if word == "--" { break }
            if word == "--help" || word == "-h" { return .help }
            if word.hasPrefix("--") {
                try long(word.dropFirst(2))
            } else if word.hasPrefix("-"), word.count > 1 {
                try short(word.dropFirst())
            } else {
                parsed.operands.append(word)
            }
        }
        parsed.operands += rest
        let allowed = command.operands.count
        if parsed.operands.count > allowed {
            throw UsageError(message: "unexpected operand '\(parsed.operands[allowed])'")
        }
        return .run(parsed)
    }

    private mutating func long(_ word: Substring) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let spec = command.option(named: parts[0]) else {
            let suggestion = command.suggestion(for: String(parts[0])).map { "; did you mean '--\($0)'?" } ?? ""
            throw UsageError(message: "unknown option '--\(parts[0])'\(suggestion)")
        }
        try add(spec, shown: "--\(spec.name)", attached: parts.count > 1 ? String(parts[1]) : nil)
    }

    private mutating func short(_ letters: Substring) throws(UsageError) {
        guard let letter = letters.first, let spec = command.options.first(where: { $0.short == letter }) else {
            throw UsageError(message: "unknown option '-\(letters)'")
        }
        let attached = letters.dropFirst()
        if spec.placeholder == nil, !attached.isEmpty {
            try add(spec, shown: "-\(letter)", attached: nil)
            return try short(attached)
        }
        try add(spec, shown: "-\(letter)", attached: attached.isEmpty ? nil : String(attached))
    }

    private mutating func add(_ spec: OptionSpec, shown: String, attached: String?) throws(UsageError) {
        if parsed.values[spec.name] != nil, !spec.repeats {
            throw UsageError(message: "'\(shown)' is given twice")
        }
        guard let placeholder = spec.placeholder else {
            if attached != nil { throw UsageError(message: "'\(shown)' takes no value") }
            return parsed.values[spec.name] = [true]
        }
        guard let text = attached ?? rest.popFirst() else {
            throw UsageError(message: "'\(shown)' requires a value, \(placeholder)")
        }
        guard texts[spec.name, default: []].insert(text).inserted else {
            throw UsageError(message: "'\(shown) \(text)' is given twice")
        }
        guard let value = spec.parse(text) else {
            throw UsageError(message: "'\(text)' is not valid for '\(shown)': the value is \(spec.expectation)")
        }
        parsed.values[spec.name, default: []].append(value)
    }
}

/// Returns the number of letters that must be added, removed or changed to turn one word into the other (Levenshtein
/// distance).
package func editDistance(_ first: String, _ second: String) -> Int {
    let target = Array(second.utf8)
    var row = Array(0...target.count)
    for (index, letter) in first.utf8.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in target.indices {
            let substituted = diagonal + (target[column] == letter ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
        }
    }
    return row[target.count]
}
