import MartletTransport

/// Truncates the write-ahead log of a database a short time after contents were removed: the log has earlier pages
/// (M-29, C-74, R-174).
///
/// | state | left by |
/// |---|---|
/// | idle, without a timer | `schedule` |
/// | scheduled | the end of the delay: idle; scheduled again if the log could not be truncated |
/// | ended | `start` |
package final class LogTruncation: Sendable {
    private struct State {
        var attempt: (@Sendable () async -> Bool)?
        var task: Task<Void, Never>?
    }

    /// The duration after a removal; also between two attempts while a reader of the log prevents it.
    private let delay: Duration
    private let state = Guarded(State())

    package init(delay: Duration = .seconds(5)) {
        self.delay = delay
    }

    deinit { end() }

    /// Begins with an attempt, because an earlier process may have ended before it truncated the log.
    ///
    /// - Parameter attempt: Truncates the log. It returns false if that is to be attempted again.
    package func start(_ attempt: @escaping @Sendable () async -> Bool) {
        end()
        state.withLock { $0.attempt = attempt }
        schedule()
    }

    /// Truncates the log after the delay, unless that is scheduled.
    package func schedule() {
        state.withLock { state in
            guard state.task == nil, let attempt = state.attempt else { return }
            state.task = Task { [weak self, delay] in
                do { try await Task.sleep(for: delay) } catch { return }
                // Removals from now on schedule another attempt.
                self?.state.withLock { $0.task = nil }
                if await !attempt() { self?.schedule() }
            }
        }
    }

    /// Ends the attempts.
    package func end() {
        state.withLock { state in
            state.task?.cancel()
            state = State()
        }
    }
}

/// A context that truncates the log of its database after a commit.
package protocol TruncatingContext: DatabaseContext {
    /// Whether the next commit is followed by a truncation. It remains true if the truncation fails.
    var truncatesLog: Bool { get set }
}

extension TruncatingContext {
    package func truncateLog() {
        guard truncatesLog else { return }
        let isBusy = try? database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").firstInt64()
        truncatesLog = isBusy != 0
    }
}

extension DatabaseWriter where Context: TruncatingContext {
    /// Moves all pages of the write-ahead log to the file, and truncates the log. Returns false if that failed; true
    /// also after `close`, which removes the log.
    package func truncateLog() async -> Bool {
        do {
            try await perform { $0.truncatesLog = true }
            return try await perform { !$0.truncatesLog }
        } catch DatabaseError.closed {
            return true
        } catch {
            return false
        }
    }
}
