import Foundation

/// The local time of day as text.
enum ClockText {
    /// Returns the current time with seconds.
    static func now() -> String { text(Date().timeIntervalSince1970, hasSeconds: true) }

    /// Returns hours and minutes of a time in milliseconds since 1970.
    static func minutes(_ milliseconds: UInt64) -> String { text(Double(milliseconds) / 1000, hasSeconds: false) }

    private static func text(_ seconds: Double, hasSeconds: Bool) -> String {
        let date = Date(timeIntervalSince1970: min(max(seconds, 0), 1e11))
        let parts = Calendar(identifier: .gregorian).dateComponents([.hour, .minute, .second], from: date)
        let fields = [parts.hour, parts.minute] + (hasSeconds ? [parts.second] : [])
        return fields.compactMap { $0 }.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
