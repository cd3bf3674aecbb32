import CMartletHTTP

/// The value of the header `Retry-After` (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// The maximum duration in seconds. A longer duration is reduced to it.
    private static let maxSeconds = 86_400
    /// The number of bytes of a date in the preferred form (RFC 9110 §5.6.7). The C library accepts other forms too.
    private static let dateByteCount = 29

    /// Returns the duration that a value requests: a number of seconds, or a date in the preferred form; nil for other
    /// text.
    ///
    /// - Parameter now: The time in milliseconds since 1970.
    package static func parse(_ text: String, now: UInt64) -> Duration? {
        let text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(min(Int(text) ?? maxSeconds, maxSeconds))
        }
        guard text.utf8.count == dateByteCount, text.hasSuffix(" GMT") else { return nil }
        let date = unsafe martlet_date(text)
        guard date >= 0 else { return nil }
        return .milliseconds(min(max(date * 1000 - Int64(clamping: now), 0), Int64(maxSeconds) * 1000))
    }
}
