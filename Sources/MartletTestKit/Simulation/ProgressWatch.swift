import MartletProtocol

/// Whether a device gets on: a device that nothing hinders, and that has something to do, does some of it within a
/// stated time.
///
/// What is owned is an instant and a count. The instant is when the device last got on, had nothing to do, or was
/// hindered.
struct ProgressWatch {
    /// How long nothing may happen: twice the longest wait between two attempts to open a room or to connect, and a
    /// minute for what is lost on the way.
    static let limit = Duration.seconds(120)

    /// How a device is when it is looked at.
    enum Standing {
        /// Something is wrong with it, its path or the relay, or it has nothing to do.
        case excused
        /// It could be connected, and is not.
        case disconnected
        /// It is connected and has something to send or to get.
        case busy
    }

    private var since = Instant.zero
    private var count = 0

    /// Looks at the device; false, once in `limit`, when it does not get on.
    ///
    /// - Parameter count: rises with everything that the device gets done.
    mutating func observe(_ standing: Standing, count: Int, now: Instant) -> Bool {
        if standing == .excused || count != self.count { since = now }
        self.count = count
        guard now - since > ProgressWatch.limit else { return true }
        since = now
        return false
    }
}
