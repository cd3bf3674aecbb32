/// Searches for the longest silence that the network's address translator forgives, for each network.
///
/// A translator forgets a connection that is silent for too long, and says nothing. The longer it lets one be, the
/// fewer pings a battery pays for, so the silence is raised by ``step`` while pings after it are answered; the first
/// one that is not answered sets an upper end, and the middle between both ends is tried until they are within
/// ``resolution``. From then on nine tenths of the longest silence that was survived is used.
///
/// A failure within ``pathChangeGrace`` of a path change, before or after it, is the path's and is not counted. One at
/// a silence that has been survived before is not the translator's either, but ``contradictionLimit`` of them in a row
/// begin the search anew (C-50).
public struct NATProbe: Equatable, Sendable {
    /// The silence that every network is taken to forgive.
    public static let minimum = Duration.seconds(15)
    /// The first silence tried on a network that is not known.
    public static let initial = Duration.seconds(30)
    /// The longest silence tried.
    public static let maximum = Duration.seconds(1200)
    /// How much longer the next silence is while none has failed.
    public static let step = Duration.seconds(30)
    /// How near both ends come before the search is over.
    public static let resolution = Duration.seconds(10)
    /// How long before or after a path change a failure is the path's.
    public static let pathChangeGrace = Duration.seconds(30)
    /// Failures in a row at silences survived before, after which the search begins anew.
    public static let contradictionLimit = 3
    /// How long a failure is held against a network.
    public static let failureLifetime = Duration.seconds(24 * 3600)
    /// How many networks are remembered; the one not used for longest goes first.
    public static let maxRememberedNetworks = 64

    /// What a failure was taken for.
    public enum Verdict: Hashable, Sendable {
        /// The translator's doing: the silence is lowered.
        case translator
        /// The path's doing: nothing is learned.
        case pathChange
        /// Something else's doing: such a silence was survived before.
        case other
    }

    /// The last is the current network's.
    private var records: [NATRecord]
    private var lastPathChange: Instant?
    /// The record from before the last failure, while a path change can still take the blame for it.
    private var forgivable: Failure?

    private struct Failure: Equatable, Sendable {
        var recordBefore: NATRecord
        var instant: Instant
    }

    /// A search on `network`, which is not known yet.
    public init(network: NetworkID) {
        records = [NATRecord(network: network)]
    }

    /// The network that is being used.
    public var network: NetworkID { current.network }

    /// How many networks are remembered, the current one included.
    public var rememberedNetworkCount: Int { records.count }

    /// The longest silence to allow now, to be given to ``Heartbeat/setLimit(_:)``.
    public func interval(now: Instant) -> Duration {
        current.interval(now: now)
    }

    /// A ping after this silence was answered.
    public mutating func survived(_ silence: Duration, now: Instant) {
        current.survive(silence)
    }

    /// No ping after this silence was answered and the connection was given up.
    public mutating func failed(after silence: Duration, now: Instant) -> Verdict {
        if let lastPathChange, now - lastPathChange <= Self.pathChangeGrace { return .pathChange }
        forgivable = Failure(recordBefore: current, instant: now)
        return current.fail(after: silence, now: now) ? .translator : .other
    }

    /// The path changed; `network` is what it leads through now, the same one or another.
    public mutating func pathChanged(to network: NetworkID, now: Instant) {
        lastPathChange = now
        if let failure = forgivable, now - failure.instant <= Self.pathChangeGrace,
            let index = records.firstIndex(where: { $0.network == failure.recordBefore.network })
        {
            records[index] = failure.recordBefore
        }
        forgivable = nil
        guard network != current.network else { return }
        let known = records.firstIndex { $0.network == network }
        records.append(known.map { records.remove(at: $0) } ?? NATRecord(network: network))
        if records.count > Self.maxRememberedNetworks { records.removeFirst() }
    }

    private var current: NATRecord {
        get { records[records.count - 1] }
        set { records[records.count - 1] = newValue }
    }
}

/// What is known of one network's translator.
struct NATRecord: Equatable, Sendable {
    let network: NetworkID
    private var survived = NATProbe.minimum
    private var failed: Duration?
    private var failedAt = Instant.zero
    private var contradictionCount = 0

    init(network: NetworkID) {
        self.network = network
    }

    func interval(now: Instant) -> Duration {
        guard let failed = failureHeld(now: now) else {
            let next = survived < NATProbe.initial ? NATProbe.initial : survived + NATProbe.step
            return min(next, NATProbe.maximum)
        }
        guard failed - survived > NATProbe.resolution else {
            return max(survived * 9 / 10, NATProbe.minimum)
        }
        return (survived + failed) / 2
    }

    mutating func survive(_ silence: Duration) {
        contradictionCount = 0
        survived = max(survived, min(silence, NATProbe.maximum))
        if let failed, failed <= survived { self.failed = nil }
    }

    /// - Returns: whether the translator is to blame.
    mutating func fail(after silence: Duration, now: Instant) -> Bool {
        if silence <= survived {
            contradictionCount += 1
            guard contradictionCount >= NATProbe.contradictionLimit else { return false }
            self = NATRecord(network: network)
        }
        failed = max(min(failureHeld(now: now) ?? silence, silence), NATProbe.minimum)
        failedAt = now
        return true
    }

    private func failureHeld(now: Instant) -> Duration? {
        now - failedAt < NATProbe.failureLifetime ? failed : nil
    }
}
