import MartletLink

/// The number of recent failures, which halves in each minute without a further failure.
struct FailureScore: Equatable, Sendable {
    /// The duration without a failure after which the number of recent failures halves.
    static let halvingInterval: Duration = .seconds(60)
    /// The maximum of the number of recent failures, so that an end of the failures has an effect within minutes.
    static let maxCount = 16

    private var count = 0
    /// The instant of the last failure, or of the end of the refusal that it caused.
    private var lastFailure = Instant.zero

    /// The number of recent failures.
    func count(now: Instant) -> Int {
        guard count > 0, lastFailure < now else { return count }
        return count >> Int(min((now - lastFailure).nanoseconds / Self.halvingInterval.nanoseconds, 63))
    }

    /// Counts a failure. Returns the number of recent ones.
    mutating func add(now: Instant) -> Int {
        count = min(count(now: now) + 1, Self.maxCount)
        lastFailure = max(lastFailure, now)
        return count
    }

    /// Keeps the number until an instant, before which no failure is possible.
    mutating func hold(until end: Instant) { lastFailure = max(lastFailure, end) }

    /// The instant at which the number becomes zero; nil if there was no failure.
    var end: Instant? {
        count == 0 ? nil : lastFailure + Self.halvingInterval * (Int.bitWidth - count.leadingZeroBitCount)
    }
}
