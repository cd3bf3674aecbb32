import MartletLink

/// Monitors progress: an unhindered device with work makes progress within a time limit.
///
/// `since` is the last time at which the device made progress, had no work, or was hindered.
struct ProgressMonitor {
    /// The time limit: twice the maximum wait between attempts to open a room or connect, and one minute for losses.
    static let limit = Duration.seconds(120)

    /// The condition of an observed device.
    enum Condition {
        /// The device is hindered or has no work.
        case exempt
        /// The device could be connected and is not.
        case disconnected
        /// The device is connected and has messages to send or receive.
        case busy
    }

    private var since = Instant.zero
    private var count = 0

    /// Observes the device. Returns false, at most once per `limit`, when it makes no progress.
    ///
    /// - Parameter count: A counter of the device's progress.
    mutating func observe(_ condition: Condition, count: Int, now: Instant) -> Bool {
        if condition == .exempt || count != self.count { since = now }
        self.count = count
        guard now - since > ProgressMonitor.limit else { return true }
        since = now
        return false
    }
}
