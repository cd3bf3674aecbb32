/// The bounded queue of a log. If the reader is too slow, the oldest entries are dropped.
///
/// | event | result |
/// |---|---|
/// | an entry is added | it is queued; the oldest entry is dropped if the queue is full |
/// | a secondary entry is added | it is queued, or dropped if the queue is half full |
/// | entries could not be written | they count as dropped |
/// | the writer requests the next step | all queued entries, and the number of entries dropped before them |
/// | the log is finished | the writer ends when all entries are written |
struct LogQueue<Entry: Sendable>: Sendable {
    /// The next step of the writer.
    enum Step {
        /// Write the entries, after the number of dropped ones if it is not zero.
        case write([Entry], dropped: Int)
        /// Wait for the next entry.
        case wait
        /// End the writer.
        case end
    }

    private let maxCount: Int
    private var entries: [Entry] = []
    /// The index of the oldest entry, once the storage is used as a ring.
    private var firstIndex = 0
    private var droppedCount = 0
    private var isFinished = false

    /// Creates a queue of at most `maxCount` entries.
    init(maxCount: Int) { self.maxCount = maxCount }

    /// Queues an entry. Returns false if an entry is dropped: a secondary one if the queue is half full, otherwise the
    /// oldest one if it is full.
    @discardableResult
    mutating func add(_ entry: Entry, isSecondary: Bool = false) -> Bool {
        if isFinished { return true }
        if isSecondary, entries.count >= maxCount / 2 {
            droppedCount += 1
            return false
        }
        if entries.count < maxCount {
            entries.append(entry)
            return true
        }
        entries[firstIndex] = entry
        firstIndex = (firstIndex + 1) % maxCount
        droppedCount += 1
        return false
    }

    mutating func next() -> Step {
        if entries.isEmpty, droppedCount == 0 || !isFinished { return isFinished ? .end : .wait }
        defer { (entries, firstIndex, droppedCount) = ([], 0, 0) }
        return .write(Array(entries[firstIndex...] + entries[..<firstIndex]), dropped: droppedCount)
    }

    mutating func failed(count: Int) {
        // The number of dropped entries is irrelevant once the log is finished.
        if !isFinished { droppedCount += count }
    }

    mutating func finish() { isFinished = true }
}

/// Reports the lost entries of a log, at most once in an interval.
///
/// | event | result |
/// |---|---|
/// | the first loss, or one later than the interval after the last report | a report with the number since the last one |
/// | any other loss | it is counted for the next report |
/// | the end of the log | a report of the rest |
struct LogLosses: Sendable {
    /// The duration between two reports of lost audit records, in nanoseconds.
    static let interval: UInt64 = 60_000_000_000  // bound

    private var count = 0
    private var reportedAt: UInt64?

    /// An entry is lost.
    ///
    /// - Parameter now: the monotonic time in nanoseconds.
    /// - Returns: The number to report; nil if it is reported later.
    mutating func add(at now: UInt64) -> Int? {
        count += 1
        if let reportedAt, now < reportedAt + Self.interval { return nil }
        reportedAt = now
        return takeRest()
    }

    /// Returns the number that was not reported yet; nil if there is none.
    mutating func takeRest() -> Int? {
        defer { count = 0 }
        return count > 0 ? count : nil
    }
}
