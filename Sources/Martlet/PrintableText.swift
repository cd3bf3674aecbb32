/// Conversion of untrusted text to a line that is safe to print on a terminal.
enum PrintableText {
    /// Replaces each control or format character, line or paragraph separator, surrogate and private-use character by
    /// `\u{XXXX}`.
    static func line(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isPrintable(scalar) {
                line.append(scalar)
            } else {
                line.append(contentsOf: "\\u{\(digits(of: scalar))}".unicodeScalars)
            }
        }
        return String(line)
    }

    /// The hexadecimal number of the scalar, with at least four digits.
    static func digits(of scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(4 - digits.count, 0)) + digits
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: false
        default: true
        }
    }
}
