extension String {
    /// The text as a string of JSON (RFC 8259 §7). Characters that some readers treat as line separators, and those
    /// that are invisible or change the writing direction, are escaped too.
    package var quotedAsJSON: String {
        var text = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..<"\u{20}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200B}"..."\u{200F}",
                "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FEFF}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
