/// The conditions of a virtual network path, for each direction.
public struct PathConditions: Sendable {
    /// The minimum delay of a byte.
    public var delay: Duration
    /// The maximum random addition to the delay. Bytes of a stream stay in order.
    public var jitter: Duration
    /// The rate of the path; nil is unlimited.
    public var bytesPerSecond: Int?
    /// The number of lost frames per 1,000, on an unordered carrier.
    public var lostPerMille: Int
    /// The number of duplicated frames per 1,000, on an unordered carrier.
    public var doubledPerMille: Int
    /// The number of reordered frames per 1,000, on an unordered carrier.
    public var overtakenPerMille: Int

    /// Creates conditions, by default without faults.
    public init(
        delay: Duration = .milliseconds(50), jitter: Duration = .zero, bytesPerSecond: Int? = nil,
        lostPerMille: Int = 0, doubledPerMille: Int = 0, overtakenPerMille: Int = 0
    ) {
        self.delay = delay
        self.jitter = jitter
        self.bytesPerSecond = bytesPerSecond
        self.lostPerMille = lostPerMille
        self.doubledPerMille = doubledPerMille
        self.overtakenPerMille = overtakenPerMille
    }
}

/// A direction of a path.
public enum PathDirection: Sendable {
    /// From the client to the relay.
    case up
    /// From the relay to the client.
    case down
    /// Both directions.
    case both
}
