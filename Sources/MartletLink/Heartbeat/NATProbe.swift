/// A search for the idle timeout of the network address translator (NAT) of each network (C-50).
///
/// A NAT removes a connection without notice after it was idle for too long. Longer idle intervals need fewer pings and
/// less power, so the machine increases the interval by ``step`` while pings after it are answered. The first interval
/// whose ping is not answered is the upper bound. The machine then bisects until both bounds differ by at most
/// ``resolution``. The result is nine tenths of the longest interval whose ping was answered.
///
/// A failure within ``pathChangeGrace`` before or after a path change is attributed to the path and ignored. A failure
/// after an interval that was answered before is attributed to another cause, but ``contradictionLimit`` of them in a
/// row restart the search.
package struct NATProbe: Equatable, Sendable {
    /// The interval that every network is assumed to support.
    package static let minimum = Duration.seconds(15)
    /// The first interval on an unknown network.
    package static let initial = Duration.seconds(30)
    /// The maximum interval.
    package static let maximum = Duration.seconds(1200)
    /// The increase of the interval before the first failure.
    package static let step = Duration.seconds(30)
    /// The maximum difference of the bounds at the end of the search.
    package static let resolution = Duration.seconds(10)
    /// The duration before and after a path change in which failures are attributed to the path.
    package static let pathChangeGrace = Duration.seconds(30)
    /// The number of consecutive failures after answered intervals that restarts the search.
    package static let contradictionLimit = 3
    /// The duration for which a failure of a network is remembered.
    package static let failureLifetime = Duration.seconds(24 * 3600)
    /// The maximum number of remembered networks. The least recently used one is removed first.
    package static let maxRememberedNetworks = 64

    /// The cause to which a failure is attributed.
    package enum FailureCause: Hashable, Sendable {
        /// The NAT; the interval decreases.
        case nat
        /// A path change; the failure is ignored.
        case pathChange
        /// Another cause, because a ping after this interval was answered before.
        case other
    }

    /// The records of the networks. The last one belongs to the current network.
    private var records: [NATRecord]
    private var lastPathChange: Instant?
    /// The record before the latest failure, while a path change can still revoke it.
    private var revocable: Failure?

    fileprivate struct Failure: Equatable, Sendable {
        var recordBefore: NATRecord
        var instant: Instant
    }

    /// Creates a search on an unknown network.
    package init(network: NetworkID) {
        records = [NATRecord(network: network)]
    }

    /// The current network.
    package var network: NetworkID { current.network }

    /// The number of remembered networks, the current one included.
    package var rememberedNetworkCount: Int { records.count }

    /// Returns the interval that ``Heartbeat/setLimit(_:)`` receives.
    package func interval(now: Instant) -> Duration {
        current.interval(now: now)
    }

    /// Reports an answered ping after an interval of silence.
    package mutating func answered(after silence: Duration, now: Instant) {
        current.answer(after: silence)
    }

    /// Reports that no ping after an interval of silence was answered and the connection was replaced.
    package mutating func failed(after silence: Duration, now: Instant) -> FailureCause {
        if let lastPathChange, now - lastPathChange <= Self.pathChangeGrace { return .pathChange }
        revocable = Failure(recordBefore: current, instant: now)
        return current.fail(after: silence, now: now) ? .nat : .other
    }

    /// Reports a path change. `network` is the network of the new path, which can be the same.
    package mutating func pathChanged(to network: NetworkID, now: Instant) {
        lastPathChange = now
        if let failure = revocable, now - failure.instant <= Self.pathChangeGrace,
            let index = records.firstIndex(where: { $0.network == failure.recordBefore.network })
        {
            records[index] = failure.recordBefore
        }
        revocable = nil
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

/// The state of the search on one network.
struct NATRecord: Equatable, Sendable {
    private(set) var network: NetworkID
    private var answered = NATProbe.minimum
    private var failed: Duration?
    private var failedAt = Instant.zero
    private var contradictionCount = 0

    init(network: NetworkID) {
        self.network = network
    }

    func interval(now: Instant) -> Duration {
        guard let failed = currentFailure(now: now) else {
            let next = answered < NATProbe.initial ? NATProbe.initial : answered + NATProbe.step
            return min(next, NATProbe.maximum)
        }
        guard failed - answered > NATProbe.resolution else {
            return max(answered * 9 / 10, NATProbe.minimum)
        }
        return (answered + failed) / 2
    }

    mutating func answer(after silence: Duration) {
        contradictionCount = 0
        answered = max(answered, min(silence, NATProbe.maximum))
        if let failed, failed <= answered { self.failed = nil }
    }

    /// Records a failure. Returns whether it is attributed to the NAT.
    mutating func fail(after silence: Duration, now: Instant) -> Bool {
        if silence <= answered {
            contradictionCount += 1
            guard contradictionCount >= NATProbe.contradictionLimit else { return false }
            self = NATRecord(network: network)
        }
        failed = max(min(currentFailure(now: now) ?? silence, silence), NATProbe.minimum)
        failedAt = now
        return true
    }

    private func currentFailure(now: Instant) -> Duration? {
        now - failedAt < NATProbe.failureLifetime ? failed : nil
    }
}

extension NATProbe: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        let blank = NATRecord(network: NetworkID(rawValue: 0))
        try archive.list(&records, blank, upTo: Self.maxRememberedNetworks)
        guard !records.isEmpty else { throw archive.fault }
        try archive.optional(&lastPathChange, .zero)
        try archive.optional(&revocable, Failure(recordBefore: blank, instant: .zero))
    }
}

extension NATProbe.Failure: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try recordBefore.archive(&archive)
        try instant.archive(&archive)
    }
}

extension NATRecord: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try network.archive(&archive)
        try answered.archive(&archive)
        try archive.optional(&failed, .zero)
        try failedAt.archive(&archive)
        try archive.count(&contradictionCount, upTo: NATProbe.contradictionLimit)
    }
}
