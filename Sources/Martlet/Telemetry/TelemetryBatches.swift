import MartletLink
import MartletWire

/// The points that a client has recorded and the relay has not taken (C-115).
///
/// | state | data | ends |
/// |---|---|---|
/// | gathering | recorded points, in order | `takeBatch`, when they fill a batch or the first one has waited |
/// | sent | a batch, beside points recorded since | `answered` |
/// | waiting | the same, the instant of the next attempt | `takeBatch` at this instant |
/// | declined | the instant until which points are dropped | this instant |
///
/// | answer | next state |
/// |---|---|
/// | accepted; rejected: the batch is dropped | gathering |
/// | failed | waiting |
/// | declined: the relay takes no points, and all are dropped | declined |
///
/// The bounds count the points of the batch too. The oldest recorded points are dropped first.
struct TelemetryBatches: Sendable {
    /// The end of an attempt to send a batch.
    enum Answer: Equatable, Sendable {
        case accepted
        case rejected
        case failed(retryAfter: Duration?)
        case declined
    }

    /// The reason for which a point is dropped.
    enum DropReason: String, CaseIterable, Sendable {
        /// The client has the maximum number of series.
        case cardinality
        /// The relay takes no points.
        case declined
        /// The memory for points is full.
        case full
        /// The point exceeds a bound, or has a name that is not permitted.
        case invalid
        /// The relay has rejected the batch of the point.
        case rejected
    }

    /// The numbers of points since the start.
    struct Counts: Equatable, Sendable {
        var recorded: UInt64 = 0
        var accepted: UInt64 = 0
        var dropped: [DropReason: UInt64] = [:]
        var pending = 0
    }

    private enum State: Sendable {
        case gathering
        case sent
        case waiting(until: Instant)
        case declined(until: Instant)
    }

    private struct Entry: Sendable {
        let bytes: [UInt8]
        let recordedAt: Instant
    }

    /// The wait after the first failure. It doubles with each further one.
    private static let minWait: Duration = .seconds(1)
    private static let maxWait: Duration = .seconds(60)
    /// The duration for which a relay without telemetry is not asked again.
    private static let declinedDuration: Duration = .seconds(3600)
    /// The nanoseconds of a millisecond.
    private static let nanoseconds: Int64 = 1_000_000
    /// The maximum milliseconds since 1970 of which the nanoseconds are within 64 bits.
    private static let maxMilliseconds: UInt64 = 9_000_000_000_000

    private let configuration: Telemetry.Configuration
    private let agent: String?
    private var random: SeededRandom
    private var state = State.gathering
    private var queue = Deque<Entry>()
    private var batch: [[UInt8]] = []
    private var queuedByteCount = 0
    private var batchByteCount = 0
    private var series: Set<[UInt8]> = []
    private var lastTime: Int64 = 0
    private var failureCount = 0
    private var isFlushing = false
    private var counted = Counts()

    init(_ configuration: Telemetry.Configuration, agent: String?, seed: UInt64) {
        self.configuration = configuration
        self.agent = agent
        random = SeededRandom(seed: seed)
    }

    var counts: Counts {
        var counts = counted
        counts.pending = queue.count + batch.count
        return counts
    }

    /// Whether no batch is sent, and none will be before a failed attempt is repeated.
    var isSettled: Bool {
        switch state {
        case .gathering: queue.isEmpty
        case .sent: false
        case .waiting, .declined: true
        }
    }

    // MARK: Recording

    /// A time for a point without one: the wall clock in milliseconds with random digits below it, so that points of
    /// different clients differ, and above the last one of this client in the same millisecond (C-116).
    mutating func makeTime(wallClock: UInt64) -> Int64 {
        let start = Int64(min(wallClock, Self.maxMilliseconds)) * Self.nanoseconds
        let time = start + Int64(random.next() % UInt64(Self.nanoseconds))
        lastTime = lastTime >= time && lastTime - start < Self.nanoseconds ? lastTime + 1 : time
        return lastTime
    }

    mutating func record(_ point: TelemetryPoint, now: Instant) {
        counted.recorded += 1
        if case .declined(let until) = state {
            guard until <= now else { return drop(.declined) }
            state = .gathering
        }
        guard let bytes = point.validEncoding else { return drop(.invalid) }
        let name = point.series
        if !series.contains(name) {
            guard series.count < configuration.maxSeriesCount else { return drop(.cardinality) }
            series.insert(name)
        }
        queue.append(Entry(bytes: bytes, recordedAt: now))
        queuedByteCount += bytes.count
        while queue.count + batch.count > configuration.maxPointCount
            || queuedByteCount + batchByteCount > configuration.maxByteCount, let oldest = queue.popFirst()
        {
            queuedByteCount -= oldest.bytes.count
            drop(.full)
        }
    }

    private mutating func drop(_ reason: DropReason, count: Int = 1) {
        counted.dropped[reason, default: 0] += UInt64(count)
    }

    // MARK: Sending

    /// The points recorded so far are sent without waiting for the interval.
    mutating func flush() { isFlushing = true }

    /// The instant at which `takeBatch` returns a batch; nil if it depends on an answer or on further points.
    var deadline: Instant? {
        switch state {
        case .sent, .declined: return nil
        case .waiting(let until): return until
        case .gathering:
            guard !queue.isEmpty else { return nil }
            let isDue = isFlushing || queuedByteCount >= TelemetryBatch.maxPointByteCount
            return isDue ? queue[0].recordedAt : queue[0].recordedAt + configuration.interval
        }
    }

    /// Returns the content of a request, if one is due. `answered` follows.
    mutating func takeBatch(now: Instant) -> [UInt8]? {
        guard let deadline, deadline <= now else { return nil }
        if batch.isEmpty {
            while !queue.isEmpty,
                batch.isEmpty || batchByteCount + queue[0].bytes.count <= TelemetryBatch.maxPointByteCount,
                let entry = queue.popFirst()
            {
                batch.append(entry.bytes)
                batchByteCount += entry.bytes.count
                queuedByteCount -= entry.bytes.count
            }
        }
        state = .sent
        return TelemetryBatch.encode(batch, of: agent)
    }

    /// The attempt to send the batch has ended.
    mutating func answered(_ answer: Answer, now: Instant) {
        guard case .sent = state else { return }
        switch answer {
        case .accepted: counted.accepted += UInt64(batch.count)
        case .rejected: drop(.rejected, count: batch.count)
        case .failed(let retryAfter):
            let ceiling = min(Self.minWait * (1 << min(failureCount, 6)), Self.maxWait)
            failureCount += 1
            let wait = ceiling * (500 + Int(random.next() % 501)) / 1000
            state = .waiting(until: now + max(wait, min(retryAfter ?? .zero, Self.declinedDuration)))
            return
        case .declined:
            drop(.declined, count: batch.count + queue.count)
            queue.removeAll()
            queuedByteCount = 0
        }
        batch = []
        batchByteCount = 0
        failureCount = 0
        if queue.isEmpty { isFlushing = false }
        state = answer == .declined ? .declined(until: now + Self.declinedDuration) : .gathering
    }
}
