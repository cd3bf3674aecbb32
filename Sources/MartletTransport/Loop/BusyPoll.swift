/// Whether a loop looks for the next event for a while before it goes to sleep.
///
/// To fall asleep and be woken takes longer than to wait for what comes at once, and whoever waits for an answer waits
/// for that, too. Only while events come close on each other is it worth the processor's time, so what is looked at is
/// how long the loop has lately waited; all that is wasted is one `limit` when they cease.
///
/// A loop that has worked for longer than that, and had not waited for much longer before, looks for as long again:
/// where whoever sleeps is woken late it would otherwise sleep after every piece of work, since all waits are long
/// then. What is wasted is never more than what was done; and a loop that does a little now and then, as one that
/// answers pings, wastes nothing.
struct BusyPoll {
    /// The longest look after work, in limits.
    private static let longestLook: UInt64 = 20
    /// The longest wait before work that is looked after, in times of the work.
    private static let longestWaitBeforeWork: UInt64 = 4
    /// A longer wait counts as so many limits, so that a pause is soon forgotten.
    private static let longestWait: UInt64 = 16
    /// The weight of the latest wait is one in so many (as RFC 6298's SRTT).
    private static let weight: UInt64 = 8

    /// The longest look, in nanoseconds; 0 goes to sleep at once.
    let limit: UInt64
    /// Nanoseconds from asking for events until there were some, smoothed.
    private var smoothedWait: UInt64
    private var latestWait = UInt64.max

    init(limit: UInt64) {
        self.limit = limit
        smoothedWait = limit * Self.longestWait
    }

    /// How long to look, in nanoseconds; 0 for not at all.
    ///
    /// - Parameter work: nanoseconds since the loop last waited for anything.
    func look(after work: UInt64) -> UInt64 {
        if work > limit, latestWait / Self.longestWaitBeforeWork <= work {
            return min(work, limit * Self.longestLook)
        }
        return smoothedWait < limit ? limit : 0
    }

    mutating func waited(_ nanoseconds: UInt64) {
        latestWait = nanoseconds
        let latest = min(nanoseconds, limit * Self.longestWait)
        smoothedWait = (smoothedWait * (Self.weight - 1) + latest) / Self.weight
    }
}
