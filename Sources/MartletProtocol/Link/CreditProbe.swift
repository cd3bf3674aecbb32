/// Asks after credit when frames wait for nothing else (RFC 9293 §3.8.6.1, zero-window probing).
///
/// Credit comes with acknowledgements. When nothing is left to acknowledge and the frame that brought credit was lost,
/// or the receiver has nothing new to say, nobody would ever speak again; so the side that is stuck asks with a ping
/// (S-41). What is owned is a deadline and a count that doubles it: a consumer may be slow for hours.
struct CreditProbe: Equatable, Sendable {
    /// The longest time between two questions.
    static let maxInterval: Duration = .seconds(60)

    @Compact private(set) var deadline: Instant? = nil
    private var count: UInt8 = 0

    var isAsking: Bool { deadline != nil }

    /// Frames wait for credit and nothing is outstanding, or no longer.
    mutating func update(isStuck: Bool, now: Instant, timeout: Duration) {
        if !isStuck {
            self = CreditProbe()
        } else if deadline == nil {
            deadline = now + timeout
        }
    }

    /// Whether it is time to ask.
    mutating func expired(now: Instant, timeout: Duration) -> Bool {
        guard let deadline, deadline <= now else { return false }
        count = min(count + 1, 6)
        self.deadline = now + min(timeout * (1 << count), CreditProbe.maxInterval)
        return true
    }
}
