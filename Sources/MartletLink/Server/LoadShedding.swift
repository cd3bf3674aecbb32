/// The refusal of new links by a loop that is near its limits, so that the existing ones are served.
///
/// | state | owns | ends |
/// |---|---|---|
/// | serving | the number of consecutive long turns | the last of `minLongTurnCount` long turns |
/// | overloaded | the instant of its end | `overloadDuration` after the last long turn |
///
/// In both states new links are refused while there are nearly as many connections as possible, or while the memory
/// budget is nearly exhausted.
struct LoadShedding: Sendable {
    /// The duration beyond which a turn is long.
    static let maxTurnDuration: Duration = .milliseconds(500)
    /// The number of consecutive long turns from which the loop is overloaded.
    static let minLongTurnCount = 4  // bound
    /// The duration of the overload after the last long turn.
    static let overloadDuration: Duration = .seconds(1)

    /// The number of connections beyond which new links are refused.
    private let maxConnectionCount: Int
    private var turnStart = Instant.zero
    private var isTurnLong = false
    private var longTurnCount = 0
    private var overloadEnd = Instant.zero

    /// - Parameter maxConnections: The maximum number of connections, of which a sixteenth is for resumed links.
    init(maxConnections: Int) {
        maxConnectionCount = maxConnections - maxConnections / 16
    }

    /// A turn ends, or continues after an earlier end.
    mutating func turnEnded(begunAt start: Instant, now: Instant) {
        if start != turnStart {
            if !isTurnLong { longTurnCount = 0 }
            (turnStart, isTurnLong) = (start, false)
        }
        guard now - start > Self.maxTurnDuration else { return }
        if !isTurnLong { (isTurnLong, longTurnCount) = (true, longTurnCount + 1) }
        if longTurnCount >= Self.minLongTurnCount { overloadEnd = now + Self.overloadDuration }
    }

    /// Whether a new link is refused.
    ///
    /// - Parameters:
    ///   - connectionCount: The number of connections, the new link's included.
    ///   - isMemoryShort: Whether the memory budget is nearly exhausted.
    func refusesLink(connectionCount: Int, isMemoryShort: Bool, now: Instant) -> Bool {
        connectionCount > maxConnectionCount || isMemoryShort || now < overloadEnd
    }
}
