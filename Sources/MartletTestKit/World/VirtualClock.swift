import MartletLink
import MartletTransport

/// The clock of a virtual world. Its time advances while all tasks of the world wait.
public struct VirtualClock: Clock, Sendable {
    /// A time of the world.
    public struct Instant: InstantProtocol, Sendable {
        let time: MartletLink.Instant

        /// The instant a duration later.
        public func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }

        /// The duration until another instant.
        public func duration(to other: Instant) -> Duration { other.time - time }

        /// Whether the left instant is the earlier one.
        public static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    let scheduler: VirtualScheduler

    /// The current time.
    public var now: Instant { Instant(time: scheduler.now) }

    /// A nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until an instant.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let sleeper = Sleeper(scheduler)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { sleeper.sleep($0, until: deadline.time) }
        } onCancel: {
            sleeper.cancel()
        }
    }
}

/// One call of `sleep`.
private final class Sleeper: Sendable {
    private enum State: Sendable {
        case idle
        case asleep(CheckedContinuation<Void, any Error>)
        case over
    }

    private let scheduler: VirtualScheduler
    private let state = Guarded(State.idle)

    init(_ scheduler: VirtualScheduler) {
        self.scheduler = scheduler
    }

    func sleep(_ continuation: CheckedContinuation<Void, any Error>, until instant: Instant) {
        let isCancelled = state.withLock { state in
            guard case .idle = state else { return true }
            state = .asleep(continuation)
            return false
        }
        guard !isCancelled else { return continuation.resume(throwing: CancellationError()) }
        // An event of a cancelled call has no effect.
        scheduler.schedule(at: instant) { self.wake() }
    }

    private func wake() {
        take()?.resume()
    }

    func cancel() {
        take()?.resume(throwing: CancellationError())
    }

    private func take() -> CheckedContinuation<Void, any Error>? {
        state.withLock { state in
            defer { state = .over }
            if case .asleep(let continuation) = state { return continuation }
            return nil
        }
    }
}
