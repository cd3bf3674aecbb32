import MartletLink
import MartletWire

/// The points that a client has recorded and the relay has not taken (C-115).
///
/// | state | data | ends |
/// |---|---|---|
/// | gathering | recorded points, and kept batches in front of them | `takeBatch`, when there is a batch, or points are due |
/// | sent | a batch, beside batches and points behind it | `answered` |
/// | waiting | the same, the instant of the next attempt | `takeBatch` at this instant |
/// | declined | the instant until which points are dropped | this instant |
///
/// | answer | next state |
/// |---|---|
/// | accepted; rejected: the batch is dropped | gathering |
/// | failed | waiting |
/// | declined: the relay takes no points, and all are dropped | declined |
///
/// The bounds count the points of all batches. The oldest points are dropped first, except those of a batch that was
/// sent. Points are *due* when they fill a batch, or when the first one has waited for the interval.
///
/// A batch that cannot be sent now, and one whose attempt has failed, is kept in the outbox: the changes of the outbox
/// are taken by `takeChanges`. A batch that was not sent grows until it is full.
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

    /// Points that are sent together.
    private struct Batch: Sendable {
        /// The form in the outbox, whose content is the request.
        var kept: OutboxPoints
        /// The points, while more can be added.
        var points: [[UInt8]]?
        var byteCount: Int
        /// Whether the outbox has the batch as it is, or an earlier state of it.
        var isKept = false
        var wasKept = false
    }

    /// The changes of the outbox.
    struct Changes: Equatable, Sendable {
        var kept: [OutboxPoints] = []
        var removed: [UInt64] = []
        var isEmpty: Bool { kept.isEmpty && removed.isEmpty }
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
    private var batches: [Batch] = []
    private var nextID: UInt64 = 1
    private var changes = Changes()
    private var queuedByteCount = 0
    /// The number and the bytes of the points of all batches.
    private var (batchedCount, batchedByteCount) = (0, 0)
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
        counts.pending = queue.count + batchedCount
        return counts
    }

    /// Whether no batch is sent, and none will be before a failed attempt is repeated.
    var isSettled: Bool {
        switch state {
        case .gathering: queue.isEmpty && batches.isEmpty
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
        dropOldest()
    }

    /// Drops the oldest points beyond the bounds (Specs/hostile.md row 123).
    private mutating func dropOldest() {
        while queue.count + batchedCount > configuration.maxPointCount
            || queuedByteCount + batchedByteCount > configuration.maxByteCount
        {
            // The relay may have stored a batch that was sent.
            let index = if case .gathering = state { 0 } else { 1 }
            if index < batches.count {
                drop(.full, count: removeBatch(at: index))
            } else if let oldest = queue.popFirst() {
                queuedByteCount -= oldest.bytes.count
                drop(.full)
            } else {
                return
            }
        }
    }

    /// Removes a batch, also from the outbox. Returns the number of its points.
    @discardableResult
    private mutating func removeBatch(at index: Int) -> Int {
        let batch = batches.remove(at: index)
        batchedCount -= batch.kept.count
        batchedByteCount -= batch.byteCount
        if batch.wasKept {
            changes.kept.removeAll { $0.id == batch.kept.id }
            changes.removed.append(batch.kept.id)
        }
        return batch.kept.count
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
        case .sent, .declined: nil
        case .waiting(let until): until
        case .gathering: batches.isEmpty ? dueInstant : .zero
        }
    }

    /// Whether an attempt has failed, and is repeated later.
    var isWaiting: Bool { if case .waiting = state { true } else { false } }

    /// The instant at which recorded points are due while an attempt is repeated later; nil otherwise.
    var dueWhileWaiting: Instant? { isWaiting ? dueInstant : nil }

    /// The instant at which the recorded points are due; nil if there are none.
    var dueInstant: Instant? {
        guard !queue.isEmpty else { return nil }
        let isDue = isFlushing || queuedByteCount >= TelemetryBatch.maxPointByteCount
        return isDue ? queue[0].recordedAt : queue[0].recordedAt + configuration.interval
    }

    /// Moves recorded points into a batch: the last one, if it can grow, or a new one.
    private mutating func gather() {
        guard !queue.isEmpty else { return }
        var points: [[UInt8]] = []
        var (id, byteCount, wasKept) = (nextID, 0, false)
        if let last = batches.last, let growing = last.points,
            last.byteCount + queue[0].bytes.count <= TelemetryBatch.maxPointByteCount
        {
            (points, id, byteCount, wasKept) = (growing, last.kept.id, last.byteCount, last.wasKept)
            batches.removeLast()
            batchedCount -= last.kept.count
            batchedByteCount -= last.byteCount
        } else {
            nextID += 1
        }
        while !queue.isEmpty,
            points.isEmpty || byteCount + queue[0].bytes.count <= TelemetryBatch.maxPointByteCount,
            let next = queue.popFirst()
        {
            points.append(next.bytes)
            byteCount += next.bytes.count
            queuedByteCount -= next.bytes.count
        }
        let kept = OutboxPoints(id: id, content: TelemetryBatch.encode(points, of: agent), count: points.count)
        batches.append(Batch(kept: kept, points: points, byteCount: byteCount, wasKept: wasKept))
        batchedCount += points.count
        batchedByteCount += byteCount
    }

    /// Returns the content of a request, if one is due. `answered` follows.
    mutating func takeBatch(now: Instant) -> [UInt8]? {
        guard let deadline, deadline <= now else { return nil }
        if batches.isEmpty { gather() }
        batches[0].points = nil
        state = .sent
        return batches[0].kept.content
    }

    /// The attempt to send the batch has ended.
    mutating func answered(_ answer: Answer, now: Instant) {
        guard case .sent = state else { return }
        switch answer {
        case .accepted: counted.accepted += UInt64(removeBatch(at: 0))
        case .rejected: drop(.rejected, count: removeBatch(at: 0))
        case .failed(let retryAfter):
            let ceiling = min(Self.minWait * (1 << min(failureCount, 6)), Self.maxWait)
            failureCount += 1
            let wait = ceiling * (500 + Int(random.next() % 501)) / 1000
            state = .waiting(until: now + max(wait, min(retryAfter ?? .zero, Self.declinedDuration)))
            return
        case .declined:
            drop(.declined, count: queue.count)
            while !batches.isEmpty { drop(.declined, count: removeBatch(at: 0)) }
            queue.removeAll()
            queuedByteCount = 0
        }
        failureCount = 0
        if queue.isEmpty, batches.isEmpty { isFlushing = false }
        state = answer == .declined ? .declined(until: now + Self.declinedDuration) : .gathering
    }

    // MARK: Outbox

    /// The maximum size of a batch in an outbox. A larger one is not valid.
    private static let maxKeptByteCount = 4096  // bound

    /// Adds the batches of an outbox, in front of those of this client.
    mutating func restore(_ kept: [OutboxPoints]) {
        nextID = max(nextID, (kept.map(\.id).max() ?? 0) &+ 1)
        var restored: [Batch] = []
        for points in kept {
            guard 1...Int(UInt16.max) ~= points.count, points.content.count <= Self.maxKeptByteCount else {
                changes.removed.append(points.id)
                continue
            }
            restored.append(Batch(kept: points, byteCount: points.content.count, isKept: true, wasKept: true))
            batchedCount += points.count
            batchedByteCount += points.content.count
        }
        batches = restored + batches
        dropOldest()
    }

    /// Keeps the points that are due, and all batches, in the outbox. They cannot be sent now.
    mutating func keep(now: Instant) {
        while let dueInstant, dueInstant <= now || isFlushing { gather() }
        for index in batches.indices where !batches[index].isKept {
            (batches[index].isKept, batches[index].wasKept) = (true, true)
            let kept = batches[index].kept
            changes.kept.removeAll { $0.id == kept.id }
            changes.kept.append(kept)
        }
    }

    /// Takes the changes of the outbox since the last call.
    mutating func takeChanges() -> Changes {
        defer { changes = Changes() }
        return changes
    }
}
