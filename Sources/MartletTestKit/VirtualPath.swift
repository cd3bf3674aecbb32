import MartletProtocol

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

/// One direction of a virtual connection: when bytes arrive, and how many wait at the sender.
struct VirtualPipe {
    /// Bytes that a sender may hand over before the path has taken them: a socket's send buffer.
    static let bufferByteCount = 64 * 1024

    private var freeAt = Instant.zero
    private var lastArrival = Instant.zero

    /// Bytes that the path has not taken yet.
    func backlog(_ conditions: PathConditions, now: Instant) -> Int {
        guard let rate = conditions.bytesPerSecond, freeAt > now else { return 0 }
        return Int((freeAt - now).nanoseconds / 1000) * rate / 1_000_000
    }

    /// When the path will have taken everything handed over so far.
    var takenAt: Instant { freeAt }

    /// Hands bytes over; answers when they arrive.
    mutating func send(_ byteCount: Int, _ conditions: PathConditions, random: UInt64, now: Instant) -> Instant {
        freeAt = max(freeAt, now)
        if let rate = conditions.bytesPerSecond {
            freeAt = freeAt + .microseconds(Int64(byteCount) * 1_000_000 / Int64(rate))
        }
        let arrival = freeAt + conditions.delay + .uniform(below: conditions.jitter, random: random)
        lastArrival = max(arrival, lastArrival)
        return lastArrival
    }
}
