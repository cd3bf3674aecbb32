/// Adaptive spin before `epoll_wait`: the time for which a loop polls without sleeping.
///
/// Falling asleep and waking up takes longer than the wait for an event that follows closely. The loop spins for
/// `limit` while the smoothed wait for events is shorter than `limit`, so an end of the traffic costs one `limit`.
///
/// After work longer than `limit` the loop spins for as long as it worked, up to `maxWorkSpin` limits, unless the wait
/// before that work was more than four times as long. That spin costs no more than the work, and a loop with little
/// work at long intervals sleeps.
struct AdaptiveSpin {
    /// The longest spin after work, in limits.
    private static let maxWorkSpin: UInt64 = 20
    /// The longest wait before work that allows a spin after it, in multiples of the work.
    private static let maxWaitPerWork: UInt64 = 4
    /// The longest wait that enters the average, in limits, so that the average recovers quickly after a pause.
    private static let maxAveragedWait: UInt64 = 16
    /// The weight of the latest wait is 1/8, as in the SRTT of RFC 6298.
    private static let averagedCount: UInt64 = 8

    /// The longest spin without preceding work, in nanoseconds; 0 disables spinning.
    let limit: UInt64
    /// The smoothed wait for events, in nanoseconds.
    private var smoothedWait: UInt64
    private var latestWait = UInt64.max

    init(limit: UInt64) {
        self.limit = limit
        smoothedWait = limit * Self.maxAveragedWait
    }

    /// The time to spin before sleeping, in nanoseconds.
    ///
    /// - Parameter work: The time since the end of the last wait, in nanoseconds.
    func duration(afterWork work: UInt64) -> UInt64 {
        if work > limit, latestWait / Self.maxWaitPerWork <= work {
            return min(work, limit * Self.maxWorkSpin)
        }
        return smoothedWait < limit ? limit : 0
    }

    /// Records a wait for events, in nanoseconds.
    mutating func recordWait(_ nanoseconds: UInt64) {
        latestWait = nanoseconds
        let averaged = min(nanoseconds, limit * Self.maxAveragedWait)
        smoothedWait = (smoothedWait * (Self.averagedCount - 1) + averaged) / Self.averagedCount
    }
}
