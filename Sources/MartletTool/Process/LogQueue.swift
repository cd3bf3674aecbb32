/// Entries of a log that wait for their reader, bounded; when the reader is too slow the oldest ones give way.
///
/// | what happens | what comes of it |
/// |---|---|
/// | an entry is added | it waits; the oldest one is dropped when there are too many |
/// | an entry could not be written | it counts as dropped |
/// | the writer asks what is next | all that wait, and how many were dropped before them |
/// | the log is finished | the writer ends when it has written everything |
struct LogQueue<Entry: Sendable>: Sendable {
    /// What the writer does next.
    enum Step {
        /// Say how many were dropped, unless that is none, and write these.
        case write([Entry], dropped: Int)
        /// There is nothing until the next entry.
        case wait
        /// There is nothing any more.
        case end
    }

    private let maxCount: Int
    private var entries: [Entry] = []
    /// The oldest one's, once the storage is used as a ring.
    private var firstIndex = 0
    private var droppedCount = 0
    private var isFinished = false

    /// At most `maxCount` entries wait.
    init(maxCount: Int) { self.maxCount = maxCount }

    mutating func add(_ entry: Entry) {
        if isFinished { return }
        if entries.count < maxCount { return entries.append(entry) }
        entries[firstIndex] = entry
        firstIndex = (firstIndex + 1) % maxCount
        droppedCount += 1
    }

    mutating func next() -> Step {
        if entries.isEmpty, droppedCount == 0 || !isFinished { return isFinished ? .end : .wait }
        defer { (entries, firstIndex, droppedCount) = ([], 0, 0) }
        return .write(Array(entries[firstIndex...] + entries[..<firstIndex]), dropped: droppedCount)
    }

    mutating func failed(count: Int) {
        // A finished log is given up where it cannot be written.
        if !isFinished { droppedCount += count }
    }

    mutating func finish() { isFinished = true }
}
