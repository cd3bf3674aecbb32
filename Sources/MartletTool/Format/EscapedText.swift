/// The format of a text as one line without control characters, which can be parsed back.
///
/// | in the text | on the line |
/// |---|---|
/// | backslash | `\\` |
/// | newline, carriage return | `\n`, `\r` |
/// | tab | tab |
/// | another control character, U+2028, U+2029 | `\u{XXXX}` with its number in hexadecimal |
/// | a change of the writing direction, U+202A to U+202E, U+2066 to U+2069 | the same |
enum EscapedText {
    /// Returns the line for a text.
    static func line(_ text: some StringProtocol) -> String {
        text.unicodeScalars.map { escape($0) }.joined()
    }

    /// Returns the line for a name before a colon. Colons in the name are escaped with a backslash.
    static func name(_ name: some StringProtocol) -> String {
        name.unicodeScalars.map { $0 == ":" ? "\\:" : escape($0) }.joined()
    }

    /// Returns the line for a text in a label. Brackets and quotation marks are escaped with a backslash.
    static func label(_ text: some StringProtocol) -> String {
        text.unicodeScalars.map { "[]\"".unicodeScalars.contains($0) ? "\\\($0)" : escape($0) }.joined()
    }

    /// Returns the line for a text in quotation marks.
    static func quoted(_ text: some StringProtocol) -> String { "\"\(label(text))\"" }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\u{0}"..<"\t", "\u{B}"..<" ", "\u{7F}"..<"\u{A0}", "\u{2028}"..."\u{202E}",
            "\u{2066}"..."\u{2069}":
            number(of: scalar)
        default: String(scalar)
        }
    }

    private static func number(of scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "\\u{" + String(repeating: "0", count: max(4 - digits.count, 0)) + digits + "}"
    }
}
