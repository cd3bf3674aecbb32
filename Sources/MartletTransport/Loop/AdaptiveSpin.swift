/// Adaptive spin before `epoll_wait`: the time for which a loop polls without sleeping.
///
/// Falling asleep and waking up takes longer than the wait for an event that follows closely. The loop spins for
/// `limit` while the smoothed wait for events is shorter than `limit`, so an end of the traffic costs one `limit`.
struct AdaptiveSpin {
    /// The longest wait that enters the average, in limits, so that the average recovers quickly after a pause.
    private static let maxAveragedWait: UInt64 = 16
    /// The weight of the latest wait is 1/8, as in the SRTT of RFC 6298.
    private static let averagedCount: UInt64 = 8

    /// The longest spin, in nanoseconds; 0 disables spinning.
    let limit: UInt64
    /// The smoothed wait for events, in nanoseconds.
    private var smoothedWait: UInt64

    init(limit: UInt64) {
        self.limit = limit
        smoothedWait = limit * Self.maxAveragedWait
    }

    /// The time to spin before sleeping, in nanoseconds.
    var duration: UInt64 { smoothedWait < limit ? limit : 0 }

    /// Records a wait for events, in nanoseconds.
    mutating func recordWait(_ nanoseconds: UInt64) {
        let averaged = min(nanoseconds, limit * Self.maxAveragedWait)
        smoothedWait = (smoothedWait * (Self.averagedCount - 1) + averaged) / Self.averagedCount
    }
}
