import Foundation

/// The time of day on this machine, for people.
enum ClockText {
    /// Now, to the second.
    static func now() -> String { text(Date().timeIntervalSince1970, hasSeconds: true) }

    /// Hours and minutes of a time in milliseconds since 1970.
    static func minutes(_ milliseconds: UInt64) -> String { text(Double(milliseconds) / 1000, hasSeconds: false) }

    private static func text(_ seconds: Double, hasSeconds: Bool) -> String {
        let date = Date(timeIntervalSince1970: min(max(seconds, 0), 1e11))
        let parts = Calendar(identifier: .gregorian).dateComponents([.hour, .minute, .second], from: date)
        let fields = [parts.hour, parts.minute] + (hasSeconds ? [parts.second] : [])
        return fields.compactMap { $0 }.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
