/// A timer of the duration with a connection and without messages. The caller supplies the time, and checks the timer
/// at each change of the connection.
///
/// | at a check | duration |
/// |---|---|
/// | more messages than at the previous check, or lines that are not written | is reset to zero |
/// | online at the previous check | grows by the time between the two |
/// | otherwise | is not changed |
struct IdleTimer {
    private let limit: Duration
    private var silence = Duration.zero
    private var wasOnline = false
    private var messageCount = 0

    /// Creates a timer that expires after `limit`.
    init(limit: Duration) {
        self.limit = limit
    }

    /// The remaining duration; zero if the timer has expired.
    var remaining: Duration { max(limit - silence, .zero) }

    /// Updates the timer.
    ///
    /// - Parameters:
    ///   - isOnline: Whether there is a connection.
    ///   - isBlocked: Whether lines wait for the reader of the output, so that no message can be received.
    ///   - elapsed: The time since the previous check.
    ///   - messageCount: The number of messages so far.
    mutating func update(isOnline: Bool, isBlocked: Bool = false, elapsed: Duration, messageCount: Int) {
        if isBlocked || messageCount != self.messageCount {
            silence = .zero
        } else if wasOnline {
            silence += elapsed
        }
        wasOnline = isOnline
        self.messageCount = messageCount
    }
}
