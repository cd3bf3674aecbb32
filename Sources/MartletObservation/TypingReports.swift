/// Limits the rate of the reports that the user is typing. The first report is passed on at once, and the next one
/// after `minInterval`. Members discard a report after 10 s.
struct TypingReports {
    /// The minimum duration between two reports.
    static let minInterval = Duration.seconds(4)

    private var next: Duration?

    /// Returns whether to report that the user is typing.
    mutating func typed(now: Duration) -> Bool {
        if let next, now < next { return false }
        next = now + Self.minInterval
        return true
    }

    /// Returns whether to report that the user is no longer typing.
    mutating func ended() -> Bool {
        defer { next = nil }
        return next != nil
    }
}
