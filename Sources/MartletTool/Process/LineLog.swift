import Dispatch
import Foundation
import MartletToolSupport
import MartletTransport

/// A log of lines that never makes the process wait: a thread of its own makes the lines and writes them.
///
/// When the reader is too slow the oldest entries are dropped, and when it is gone all of them; once it reads again it
/// is told how many. A reader that goes away must not end the process: its owner ignores SIGPIPE.
final class LineLog<Entry: Sendable>: Sendable {
    private let queue: Guarded<LogQueue<Entry>>
    private let wake = DispatchSemaphore(value: 0)
    private let written = AsyncStream<Never>.makeStream()

    /// A log that is written to a file descriptor.
    ///
    /// - Parameters:
    ///   - maxWaitingCount: how many entries may wait to be written.
    ///   - line: an entry's line, without its end.
    ///   - dropped: the line that says how many entries were dropped.
    init(
        to descriptor: Int32, maxWaitingCount: Int = LogBounds.maxWaitingCount,
        line: @escaping @Sendable (Entry) -> String, dropped: @escaping @Sendable (Int) -> String
    ) {
        queue = Guarded(LogQueue(maxCount: maxWaitingCount))
        // Not a task: the pool's threads are few, and a write may take for ever.
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

    /// Adds an entry, from any thread.
    func add(_ entry: Entry) {
        queue.withLock { $0.add(entry) }
        wake.signal()
    }

    /// Returns when everything is written or after `limit`, whichever comes first. What is added later is lost.
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
    /// Entries that may wait to be written.
    static let maxWaitingCount = 4_096
    /// How long the last lines may take when the process ends.
    static let finishTimeout = Duration.seconds(1)
}
