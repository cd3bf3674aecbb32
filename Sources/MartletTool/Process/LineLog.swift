import Dispatch
import Foundation
import MartletToolSupport
import MartletTransport

/// A log that never blocks its callers: a thread formats and writes the lines.
///
/// While the reader is too slow the oldest entries are dropped, and their number is logged later. If the reader has
/// ended, all entries are dropped. The owner of the log ignores SIGPIPE, so that the end of the reader does not end the
/// process.
final class LineLog<Entry: Sendable>: Sendable {
    private let queue: Guarded<LogQueue<Entry>>
    private let wake = DispatchSemaphore(value: 0)
    private let written = AsyncStream<Never>.makeStream()

    /// Creates a log that is written to a file descriptor.
    ///
    /// - Parameters:
    ///   - maxWaitingCount: The maximum number of queued entries.
    ///   - line: A closure that returns the line of an entry, without a newline.
    ///   - dropped: A closure that returns the line about a number of dropped entries.
    init(
        to descriptor: Int32, maxWaitingCount: Int = LogBounds.maxWaitingCount,
        line: @escaping @Sendable (Entry) -> String, dropped: @escaping @Sendable (Int) -> String
    ) {
        queue = Guarded(LogQueue(maxCount: maxWaitingCount))
        // A write may block permanently, and the thread pool has few threads.
        Thread.detachNewThread { [self] in
            defer { written.continuation.finish() }
            while true {
                switch queue.withLock({ $0.next() }) {
                case .write(let entries, let count):
                    if count > 0 { write(dropped(count), standingFor: count, to: descriptor) }
                    for entry in entries { write(line(entry), standingFor: 1, to: descriptor) }
                case .wait: wake.wait()
                case .end: return
                }
            }
        }
    }

    /// Adds an entry. A secondary one is dropped before it takes the place of others. The method can be called from any
    /// thread.
    func add(_ entry: Entry, isSecondary: Bool = false) {
        queue.withLock { $0.add(entry, isSecondary: isSecondary) }
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
    }

    private func write(_ line: String, standingFor count: Int, to descriptor: Int32) {
        do { try Output.write(Array((line + "\n").utf8), to: descriptor) } catch {
            queue.withLock { $0.failed(count: count) }
        }
    }
}

/// The bounds of logs.
enum LogBounds {
    /// The maximum number of queued entries.
    static let maxWaitingCount = 4_096
    /// The maximum duration of the last writes when the process ends.
    static let finishTimeout = Duration.seconds(1)
}
