/// The trouble that a weak link makes. What is not set makes none.
struct WeakLinkProfile: Equatable, Sendable {
    /// How long every byte takes, each way.
    var delay = Duration.zero
    /// By how much the delay varies, up and down, spread evenly; never below zero in all.
    var jitter = Duration.zero
    /// What fits through in a second, each way and per connection.
    var bytesPerSecond: Int?
    /// Nothing passes for `stallFor`, again and again: the first time when this has gone by.
    var stallEvery: Duration?
    /// How long a stall takes; shorter than `stallEvery`.
    var stallFor = Duration.zero
    /// When, after the start of the link, the black hole begins: nothing passes, and no connection ends.
    var blackHoleAt: Duration?
    /// How long the black hole stays.
    var blackHoleFor = Duration.zero
    /// All connections are cut, again and again: the first time when this has gone by.
    var cutEvery: Duration?
    /// A connection is cut when it has carried so many bytes, both ways together.
    var cutAfterByteCount: Int?
    /// After so many cuts there are no more.
    var maxCutCount: Int?
    /// One bit of one byte is flipped in every so many bytes, each way.
    var corruptOneIn: Int?

    /// What may wait in a router's queue, each way and per connection, besides what is on its way.
    static let queueByteCount = 64 << 10
    /// The bytes that may be in flight where no bandwidth limits them.
    static let unlimitedFlightByteCount = 1 << 20

    /// What a connection's sender may have in the link, each way, before it has to wait.
    var maxHeldByteCount: Int {
        guard let bytesPerSecond else { return Self.unlimitedFlightByteCount + Self.queueByteCount }
        let flight = Double(bytesPerSecond) * ((delay + jitter) / .seconds(1))
        return Int(min(flight, Double(1 << 30))) + Self.queueByteCount
    }
}
