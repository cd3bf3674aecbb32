/// Measures for how long no message came while there was a connection; time comes in from outside.
///
/// | seen at a look | silence |
/// |---|---|
/// | more messages than at the look before | is zero again |
/// | online, and online at the look before | grows by the time between the two |
/// | anything else | stays as it is |
struct IdleTimer {
    private let limit: Duration
    private var silence = Duration.zero
    private var wasOnline = false
    private var messageCount = 0

    /// A timer that has run out after `limit` of silence.
    init(limit: Duration) {
        self.limit = limit
    }

    /// The silence that is still to come; zero when the timer has run out.
    var rest: Duration { max(limit - silence, .zero) }

    /// A look at the client.
    ///
    /// - Parameters:
    ///   - isOnline: whether there is a connection now.
    ///   - elapsed: the time since the look before.
    ///   - messageCount: how many messages came so far.
    mutating func look(isOnline: Bool, elapsed: Duration, messageCount: Int) {
        if messageCount != self.messageCount {
            silence = .zero
        } else if isOnline, wasOnline {
            silence += elapsed
        }
        wasOnline = isOnline
        self.messageCount = messageCount
    }
}
