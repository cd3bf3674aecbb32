import MartletToolSupport

/// The result of one check of `martlet doctor`, in one line.
struct DoctorLine: Equatable, Sendable {
    /// A check, by its name in the lines.
    enum Check: String, Sendable {
        case address, name, connect, tls, certificate, welcome, ping, clock, resumption
    }

    /// The mark of a result.
    enum Mark: String, Sendable {
        case ok, warn, fail
    }

    var check: Check
    var mark: Mark
    /// The findings of the check.
    var found: String
    /// The next step of the user; nil if there is none.
    var advice: String?
    /// Further members of the JSON object.
    var details: [JSONLine.Member] = []

    private static let markWidth = 6
    private static let checkWidth = 13

    /// The line for people, safe for a terminal.
    var text: String {
        let mark = mark == .fail ? "FAIL" : mark.rawValue
        let sentence = found + (advice.map { "; \($0)" } ?? "")
        return Self.pad(mark, Self.markWidth) + Self.pad(check.rawValue, Self.checkWidth) + SafeText.line(sentence)
    }

    /// The line as a JSON object.
    var json: JSONLine {
        .object(
            [
                .init("check", .string(check.rawValue)), .init("mark", .string(mark.rawValue)),
                .init("found", .string(found)), .init("advice", advice.map { .string($0) } ?? .null),
            ] + details)
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 1))
    }
}
