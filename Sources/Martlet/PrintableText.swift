/// Text from outside in a line for a person. What cannot be printed, or would act on a terminal, is shown by its
/// number.
enum PrintableText {
    /// The text with `\u{XXXX}` in place of control and format characters, separators of lines and paragraphs,
    /// surrogates and private use.
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

    /// The scalar's number in at least four hexadecimal digits.
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
