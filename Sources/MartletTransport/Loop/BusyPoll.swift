/// Whether a loop looks for the next event for a while before it goes to sleep.
///
/// To fall asleep and be woken takes longer than to wait for what comes at once, and whoever waits for an answer waits
/// for that, too. Only while events come close on each other is it worth the processor's time, so what is looked at is
/// how long the loop has lately waited; all that is wasted is one `limit` when they cease.
struct BusyPoll {
    /// A longer wait counts as so many limits, so that a pause is soon forgotten.
    private static let longestWait: UInt64 = 16
    /// The weight of the latest wait is one in so many (as RFC 6298's SRTT).
    private static let weight: UInt64 = 8

    /// The longest look, in nanoseconds; 0 goes to sleep at once.
    let limit: UInt64
    /// Nanoseconds from asking for events until there were some, smoothed.
    private var smoothedWait: UInt64

    init(limit: UInt64) {
        self.limit = limit
        smoothedWait = limit * Self.longestWait
    }

    var isWorthwhile: Bool { smoothedWait < limit }

    mutating func waited(_ nanoseconds: UInt64) {
        let latest = min(nanoseconds, limit * Self.longestWait)
        smoothedWait = (smoothedWait * (Self.weight - 1) + latest) / Self.weight
    }
}
