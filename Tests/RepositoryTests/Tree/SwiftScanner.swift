/// A line of Swift with separated code and comments, without the contents of string literals.
struct ScannedLine: Equatable {
    var code = ""
    var comment = ""
}

/// Separates code from comments and string literals, as the rules require.
///
/// The modes form a stack, because a literal's interpolation contains code, which may contain a literal. A literal on
/// one line ends with its line at the latest, so that a wrongly recognized quotation mark (for example in a regex
/// literal) affects one line and not the file.
struct SwiftScanner {
    private enum Mode: Equatable {
        /// Code inside this number of parentheses.
        case code(depth: Int)
        case blockComment
        case string(hashes: Int, multiline: Bool)
    }

    private var modes: [Mode] = [.code(depth: 0)]

    static func scan(_ lines: [Substring]) -> [ScannedLine] {
        var scanner = SwiftScanner()
        return lines.map { scanner.scan(line: Array($0.utf8)) }
    }

    private mutating func scan(line bytes: [UInt8]) -> ScannedLine {
        var rest = bytes[...]
        var code: [UInt8] = []
        var comment: [UInt8] = []
        while let first = rest.first {
            switch modes[modes.count - 1] {
            case .blockComment:
                if rest.take("*/") {
                    modes.removeLast()
                } else if rest.take("/*") {
                    modes.append(.blockComment)
                } else {
                    comment.append(first)
                    rest.removeFirst()
                }
            case .string(let hashes, let multiline):
                scanString(&rest, &code, hashes: hashes, multiline: multiline)
            case .code(let depth):
                if rest.take("//") {
                    comment += rest
                    rest = []
                } else if rest.take("/*") {
                    modes.append(.blockComment)
                } else {
                    scanCode(&rest, &code, depth: depth)
                }
            }
        }
        endLine()
        return ScannedLine(
            code: String(decoding: code, as: UTF8.self), comment: String(decoding: comment, as: UTF8.self))
    }

    private mutating func scanCode(_ rest: inout ArraySlice<UInt8>, _ code: inout [UInt8], depth: Int) {
        if let (hashes, multiline) = rest.takeOpeningQuote() {
            code.append(UInt8(ascii: "\""))
            modes.append(.string(hashes: hashes, multiline: multiline))
            return
        }
        let byte = rest.removeFirst()
        switch byte {
        case UInt8(ascii: "("):
            modes[modes.count - 1] = .code(depth: depth + 1)
        case UInt8(ascii: ")") where depth == 0 && modes.count > 1:
            modes.removeLast()
            return
        case UInt8(ascii: ")"):
            modes[modes.count - 1] = .code(depth: depth - 1)
        default:
            break
        }
        code.append(byte)
    }

    private mutating func scanString(
        _ rest: inout ArraySlice<UInt8>, _ code: inout [UInt8], hashes: Int, multiline: Bool
    ) {
        let hashMarks = String(repeating: "#", count: hashes)
        if rest.take((multiline ? "\"\"\"" : "\"") + hashMarks) {
            code.append(UInt8(ascii: "\""))
            modes.removeLast()
        } else if rest.take("\\" + hashMarks + "(") {
            modes.append(.code(depth: 0))
        } else if rest.take("\\" + hashMarks) {
            rest = rest.dropFirst()
        } else {
            rest.removeFirst()
        }
    }

    private mutating func endLine() {
        let unended = modes.firstIndex {
            if case .string(_, multiline: false) = $0 { true } else { false }
        }
        if let unended { modes.removeSubrange(unended...) }
    }
}

extension ArraySlice<UInt8> {
    /// Removes `prefix` if the slice begins with it. Returns whether it does.
    fileprivate mutating func take(_ prefix: String) -> Bool {
        guard starts(with: prefix.utf8) else { return false }
        self = dropFirst(prefix.utf8.count)
        return true
    }

    /// Removes the quotation marks, and the hash marks before them, that begin a string literal.
    fileprivate mutating func takeOpeningQuote() -> (hashes: Int, multiline: Bool)? {
        let quoted = drop { $0 == UInt8(ascii: "#") }
        guard quoted.first == UInt8(ascii: "\"") else { return nil }
        let hashes = count - quoted.count
        self = quoted
        let multiline = take("\"\"\"")
        if !multiline { removeFirst() }
        return (hashes, multiline)
    }
}
