import Dispatch
import MartletToolSupport
import MartletTransport

/// A log that never blocks its callers: a thread formats and writes the lines.
///
/// While the reader is too slow the oldest entries are dropped, and their number is logged later. If the reader has
/// ended, or the disk is full, all entries are dropped. Both are reported as losses, at most once in an interval. The
/// owner of the log ignores SIGPIPE, so that the end of the reader does not end the process.
final class LineLog<Entry: Sendable>: Sendable {
    private let queue: Guarded<LogQueue<Entry>>
    private let losses = Guarded(LogLosses())
    private let onLoss: @Sendable (Int) -> Void
    private let wake = DispatchSemaphore(value: 0)
    private let written = AsyncStream<Never>.makeStream()

    /// Creates a log that is written to a file descriptor.
    ///
    /// - Parameters:
    ///   - maxWaitingCount: The maximum number of queued entries.
    ///   - line: A closure that returns the line of an entry, without a newline.
    ///   - dropped: A closure that returns the line about a number of dropped entries.
    ///   - onLoss: A closure that receives the number of entries that were dropped since its last call.
    init(
        to descriptor: Int32, maxWaitingCount: Int = LogBounds.maxWaitingCount,
        line: @escaping @Sendable (Entry) -> String, dropped: @escaping @Sendable (Int) -> String,
        onLoss: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.onLoss = onLoss
        queue = Guarded(LogQueue(maxCount: maxWaitingCount))
        // A write may block permanently, and the thread pool has few threads.
        _ = startThread(named: "martlet-log") { [self] in
            defer { written.continuation.finish() }
            var output = LineOutputState(descriptor: descriptor)
            while true {
                switch queue.withLock({ $0.next() }) {
                case .write(let entries, let count):
                    if count > 0 { _ = write(dropped(count), standingFor: count, to: &output) }
                    for entry in entries where !write(line(entry), standingFor: 1, to: &output) { noteLoss() }
                case .wait: wake.wait()
                case .end: return
                }
            }
        }
    }

    /// Adds an entry. A secondary one is dropped before it takes the place of others. The method can be called from any
    /// thread.
    func add(_ entry: Entry, isSecondary: Bool = false) {
        if !queue.withLock({ $0.add(entry, isSecondary: isSecondary) }) { noteLoss() }
        wake.signal()
    }

    /// Returns when all entries are written, or after `limit`. Later entries are discarded.
    func finish(within limit: Duration = LogBounds.finishTimeout) async {
        queue.withLock { $0.finish() }
        wake.signal()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [written] in for await _ in written.stream {} }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        if let count = losses.withLock({ $0.takeRest() }) { onLoss(count) }
    }

    /// An entry was dropped.
    private func noteLoss() {
        if let count = losses.withLock({ $0.add(at: EventLoop.clock) }) { onLoss(count) }
    }

    /// Returns false if the line could not be written.
    private func write(_ line: String, standingFor count: Int, to output: inout LineOutputState) -> Bool {
        if output.write(line) { return true }
        queue.withLock { $0.failed(count: count) }
        return false
    }
}

/// The end of a log. A line that was written in part, for example on a full disk, is ended before the next one.
private struct LineOutputState {
    let descriptor: Int32
    private var endsInLine = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Returns false if the line was not written, or in part.
    mutating func write(_ line: String) -> Bool {
        let bytes = Array(((endsInLine ? "\n" : "") + line + "\n").utf8)
        let count = Output.writePart(of: bytes, to: descriptor)
        if count > 0 { endsInLine = bytes[count - 1] != UInt8(ascii: "\n") }
        return count == bytes.count
    }
}

/// The bounds of logs.
enum LogBounds {
    /// The maximum number of queued entries.
    static let maxWaitingCount = 4_096
    /// The maximum duration of the last writes when the process ends.
    static let finishTimeout = Duration.seconds(1)
}
