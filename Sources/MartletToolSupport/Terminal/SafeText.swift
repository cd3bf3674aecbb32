/// Text of other users, made safe for a terminal: characters that move the cursor, change colors or reverse the
/// writing direction are shown as text.
package enum SafeText {
    /// Returns the text as one line. Newlines are shown too.
    package static func line(_ text: some StringProtocol) -> String { clean(text, keepsLines: false) }

    /// Returns the lines of the text.
    package static func lines(_ text: some StringProtocol) -> [String] {
        clean(text, keepsLines: true).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func clean(_ text: some StringProtocol, keepsLines: Bool) -> String {
        var clean = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            defer { previous = scalar }
            switch scalar {
            case "\t": clean.append(contentsOf: "    ".unicodeScalars)
            case "\n", "\r":
                if scalar == "\n", previous == "\r" { continue }
                clean.append(keepsLines ? "\n" : "\u{23CE}")
            case "\u{2028}", "\u{2029}": clean.append(keepsLines ? "\n" : "\u{23CE}")
            case "\u{0}"..<"\u{20}", "\u{7F}"..<"\u{A0}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                clean.append("\u{FFFD}")
            default: clean.append(scalar)
            }
        }
        return String(clean)
    }
}
