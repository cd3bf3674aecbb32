/// Reports the lost entries of a log, at most once in an interval.
///
/// | event | result |
/// |---|---|
/// | the first loss, or one later than the interval after the last report | a report with the number since the last one |
/// | any other loss | it is counted for the next report |
/// | the end of the log | a report of the rest |
struct LogLosses: Sendable {
    /// The duration between two reports of lost audit records, in nanoseconds.
    static let interval: UInt64 = 60_000_000_000  // bound

    private var count = 0
    private var reportedAt: UInt64?

    /// An entry is lost.
    ///
    /// - Parameter now: the monotonic time in nanoseconds.
    /// - Returns: The number to report; nil if it is reported later.
    mutating func add(at now: UInt64) -> Int? {
        count += 1
        if let reportedAt, now < reportedAt + Self.interval { return nil }
        reportedAt = now
        return takeRest()
    }

    /// Returns the number that was not reported yet; nil if there is none.
    mutating func takeRest() -> Int? {
        defer { count = 0 }
        return count > 0 ? count : nil
    }
}
