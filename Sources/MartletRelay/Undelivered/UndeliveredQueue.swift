import MartletLink

/// The reports of undelivered messages of one loop that wait for their handler.
///
/// | state of a report | owns | ends |
/// |---|---|---|
/// | waiting | an entry in the queue | `next`; too many wait, then the oldest is dropped |
/// | in progress | one of the calls | `ended` |
struct UndeliveredQueue: Sendable {
    /// The maximum number of reports that wait.
    static let maxWaitingCount = 1024
    /// The maximum number of calls of the handler in progress.
    static let maxCallCount = 16
    /// The minimum duration between two events about dropped reports.
    static let dropInterval: Duration = .seconds(10)

    private var waiting = Deque<UndeliveredReport>()
    private var callCount = 0
    private var unreportedDropCount = 0
    private var nextDropEventAt = Instant.zero
    /// The number of reports passed to the handler.
    private(set) var startedCount: UInt64 = 0
    /// The number of dropped reports.
    private(set) var droppedCount: UInt64 = 0

    /// Adds reports. The oldest ones beyond the maximum are dropped.
    mutating func add(_ reports: [UndeliveredReport]) {
        for report in reports {
            if waiting.count >= Self.maxWaitingCount {
                _ = waiting.popFirst()
                droppedCount += 1
                unreportedDropCount += 1
            }
            waiting.append(report)
        }
    }

    /// Takes the next report, whose call begins; nil if none waits, or too many calls are in progress.
    mutating func next() -> UndeliveredReport? {
        guard callCount < Self.maxCallCount, let report = waiting.popFirst() else { return nil }
        callCount += 1
        startedCount += 1
        return report
    }

    /// A call has ended.
    mutating func ended() { callCount -= 1 }

    /// Takes the number of reports that were dropped since the last event; nil if there are none, or the interval has
    /// not passed.
    mutating func takeDropped(now: Instant) -> Int? {
        guard unreportedDropCount > 0, nextDropEventAt <= now else { return nil }
        nextDropEventAt = now + Self.dropInterval
        defer { unreportedDropCount = 0 }
        return unreportedDropCount
    }
}
