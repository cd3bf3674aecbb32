/// The duration over which the clients of a server spread their attempts after its end, by their number (C-92).
///
/// A server that begins counts few clients, although many may be on their way. The arrivals of up to two seconds,
/// continued for ``lookaheadSeconds``, are therefore counted as clients, too.
///
/// | state | ends |
/// |---|---|
/// | arrivals of this second, and of the one before | the next second |
struct ReconnectSpread: Sendable {
    /// The duration for each client: at most 1,000 attempts arrive in a second.
    static let durationPerClient = Duration.milliseconds(1)
    /// The seconds for which the current rate of arrivals is expected to continue.
    static let lookaheadSeconds = 12
    /// The maximum duration over which a server spreads the attempts of its clients.
    static let maxDuration = Duration.seconds(24)

    private var second: UInt64 = 0
    private var arrivalCount = 0
    private var earlierArrivalCount = 0

    /// A client is welcomed.
    mutating func arrived(now: Instant) {
        advance(now: now)
        arrivalCount += 1
    }

    /// The duration, the number of milliseconds rounded up to a power of two.
    ///
    /// - Parameter clientCount: The number of connected clients of all loops.
    /// - Parameter loopCount: The number of loops, over which arrivals are distributed evenly.
    mutating func duration(clientCount: Int, loopCount: Int, now: Instant) -> Duration {
        advance(now: now)
        let arriving = (arrivalCount + earlierArrivalCount) * loopCount * Self.lookaheadSeconds
        var duration = Self.durationPerClient
        let expected = Self.durationPerClient * (clientCount + arriving)
        while duration < expected, duration < Self.maxDuration { duration *= 2 }
        return min(duration, Self.maxDuration)
    }

    private mutating func advance(now: Instant) {
        let present = now.nanoseconds / 1_000_000_000
        guard present != second else { return }
        earlierArrivalCount = present == second + 1 ? arrivalCount : 0
        arrivalCount = 0
        second = present
    }
}
