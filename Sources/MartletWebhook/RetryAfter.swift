import Foundation

/// The value of the header `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The maximum duration in seconds. A longer duration is reduced to it.
    private static let maxSeconds = 86_400

    /// Returns the duration that a value requests: a number of seconds, or a date in the preferred form; nil for other
    /// text.
    static func parse(_ text: String, now: Date) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(min(Int(text) ?? maxSeconds, maxSeconds))
        }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = format.date(from: text) else { return nil }
        return .seconds(min(max(date.timeIntervalSince(now), 0), Double(maxSeconds)))
    }
}
