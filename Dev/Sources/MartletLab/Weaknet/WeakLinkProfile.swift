/// The faults of a link. An unset property causes no fault.
struct WeakLinkProfile: Equatable, Sendable {
    /// The delay of every byte in each direction.
    var delay = Duration.zero
    /// The maximum deviation of the delay, uniformly distributed. The sum is never negative.
    var jitter = Duration.zero
    /// The bandwidth in bytes per second, for each direction of each connection.
    var bytesPerSecond: Int?
    /// The interval between stalls, in which no bytes are transferred for `stallFor`. The first stall begins after this
    /// interval.
    var stallEvery: Duration?
    /// The duration of a stall, shorter than `stallEvery`.
    var stallFor = Duration.zero
    /// The time of the black hole since the start of the link. During a black hole no bytes are transferred and no
    /// connection ends.
    var blackHoleAt: Duration?
    /// The duration of the black hole.
    var blackHoleFor = Duration.zero
    /// The interval between cuts of all connections. The first cut follows after this interval.
    var cutEvery: Duration?
    /// The number of bytes, in both directions together, after which a connection is cut.
    var cutAfterByteCount: Int?
    /// The maximum number of cuts.
    var maxCutCount: Int?
    /// The number of bytes, in each direction, in which one bit is flipped.
    var corruptOneIn: Int?

    /// The maximum number of bytes in a router's queue, for each direction of each connection, beside those in flight.
    static let queueByteCount = 64 << 10
    /// The maximum number of bytes in flight without a bandwidth.
    static let unlimitedFlightByteCount = 1 << 20

    /// The maximum number of bytes of a connection's sender in the link, for each direction. Beyond it the sender
    /// waits.
    var maxHeldByteCount: Int {
        guard let bytesPerSecond else { return Self.unlimitedFlightByteCount + Self.queueByteCount }
        let flight = Double(bytesPerSecond) * ((delay + jitter) / .seconds(1))
        return Int(min(flight, Double(1 << 30))) + Self.queueByteCount
    }
}
