/// What a virtual network does to bytes between a client and the relay, in each direction.
public struct PathConditions: Sendable {
    /// The time a byte takes at the least.
    public var delay: Duration
    /// The most that is added to the delay, at random; bytes of a stream stay in order.
    public var jitter: Duration
    /// How fast bytes go onto the path; nil is at once.
    public var bytesPerSecond: Int?
    /// On a carrier without order: frames lost, of 1,000.
    public var lostPerMille: Int
    /// On a carrier without order: frames that come twice, of 1,000.
    public var doubledPerMille: Int
    /// On a carrier without order: frames that are overtaken by later ones, of 1,000.
    public var overtakenPerMille: Int

    /// Good conditions, but for what is given.
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

/// What became of frames on carriers without order, on all paths of a world together: whether the trouble that was
/// asked for took place.
public struct PathTrouble: Equatable, Sendable {
    /// Frames that did not arrive.
    public internal(set) var lost = 0
    /// Frames that arrived twice.
    public internal(set) var doubled = 0
    /// Frames that arrived after one that was sent later.
    public internal(set) var overtaken = 0
}
