import MartletLink
import MartletTransport
import MartletWire

/// The executor of a virtual world: runs its tasks, the turns of its loops and its events on one thread, in virtual
/// time.
///
/// Jobs and turns run in the order in which they became ready. When none is ready, the time advances to the next event
/// or deadline of a loop; events precede deadlines, and equal times keep the order in which they were set.
///
/// `@unchecked Sendable`: all state except `ready` and `outside` is used by the thread that runs the world.
final class VirtualScheduler: TaskExecutor, @unchecked Sendable {
    /// The maximum number of jobs, turns and events at one instant. More of them make no progress.
    static let maxStepsPerInstant = 1_000_000

    private enum Ready: Sendable {
        case job(UnownedJob)
        case turn(EventLoop)
    }

    /// The reason why `run` returns.
    enum End: Equatable {
        case finished
        /// Nothing is ready, and no event or deadline follows.
        case deadlock
        case timeLimit
        /// `maxStepsPerInstant` was exceeded.
        case noProgress
    }

    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private let ready = Guarded(Deque<Ready>())
    /// The number of calls in progress whose work is on other threads.
    private let outside = Guarded(0)
    private var events = DeadlineQueue<UInt64, UInt64>()
    private var eventOfNumber: [UInt64: () -> Void] = [:]
    private var lastEvent: UInt64 = 0
    private var deadlines = DeadlineQueue<ObjectIdentifier, UInt64>()
    private var sleeping: [ObjectIdentifier: EventLoop] = [:]
    private var stepsAtThisInstant = 0
    /// The number of jobs, turns and events so far.
    private(set) var stepCount: UInt64 = 0

    // MARK: - Executor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        ready.withLock { $0.append(.job(job)) }
    }

    /// Runs a turn of the loop soon.
    func wake(_ loop: EventLoop) {
        ready.withLock { $0.append(.turn(loop)) }
    }

    // MARK: - Events

    /// Calls `body` at an instant, or now if it has passed. Returns the number of the event.
    @discardableResult
    func schedule(at instant: Instant, _ body: @escaping () -> Void) -> UInt64 {
        lastEvent += 1
        eventOfNumber[lastEvent] = body
        events.set(lastEvent, at: max(instant, now).nanoseconds)
        return lastEvent
    }

    @discardableResult
    func schedule(after delay: Duration, _ body: @escaping () -> Void) -> UInt64 {
        schedule(at: now + delay, body)
    }

    /// Removes an event; false if it has happened.
    @discardableResult
    func cancel(_ event: UInt64) -> Bool {
        guard eventOfNumber.removeValue(forKey: event) != nil else { return false }
        events.cancel(event)
        return true
    }

    // MARK: - Other threads

    /// Stops the time while work on another thread is in progress: until the call of `endOutside`, only jobs that
    /// become ready meanwhile run.
    func beginOutside() {
        outside.withLock { $0 += 1 }
    }

    func endOutside() {
        outside.withLock { $0 -= 1 }
    }

    // MARK: - Running

    /// Runs until `isFinished`, which is checked after each step, or until nothing follows.
    func run(until limit: Instant, isFinished: () -> Bool) -> End {
        while !isFinished() {
            if outside.withLock({ $0 > 0 }) { runOutside() }
            if let next = ready.withLock({ $0.popFirst() }) {
                perform(next)
                guard stepsAtThisInstant < Self.maxStepsPerInstant else { return .noProgress }
                continue
            }
            guard let next = [events.earliest, deadlines.earliest].compactMap({ $0 }).min() else { return .deadlock }
            guard next <= limit.nanoseconds else {
                now = max(now, limit)
                return .timeLimit
            }
            advance(to: Instant(nanoseconds: next))
        }
        return .finished
    }

    private func advance(to instant: Instant) {
        if instant > now {
            now = instant
            stepsAtThisInstant = 0
        }
        while let number = events.popExpired(now: now.nanoseconds) {
            count()
            eventOfNumber.removeValue(forKey: number)?()
        }
        while let id = deadlines.popExpired(now: now.nanoseconds) {
            if let loop = sleeping.removeValue(forKey: id) { wake(loop) }
        }
    }

    private func count() {
        stepCount += 1
        stepsAtThisInstant += 1
    }

    private func perform(_ next: Ready) {
        count()
        switch next {
        case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        case .turn(let loop):
            let id = ObjectIdentifier(loop)
            deadlines.cancel(id)
            sleeping[id] = nil
            switch loop.runTurn() {
            case .ready: wake(loop)
            case .sleeping(.max), .stopped: break
            case .sleeping(let deadline):
                deadlines.set(id, at: deadline)
                sleeping[id] = loop
            }
        }
    }

    /// Runs the jobs that other threads submit until no work on them is in progress. The jobs that were ready before
    /// keep their places.
    private func runOutside() {
        var waiting = ready.withLock { ready in
            defer { ready = Deque() }
            return ready
        }
        while outside.withLock({ $0 > 0 }) {
            guard let next = ready.withLock({ $0.popFirst() }) else {
                pauseThread(microseconds: 50)
                continue
            }
            perform(next)
        }
        while let next = ready.withLock({ $0.popFirst() }) { waiting.append(next) }
        let restored = waiting
        ready.withLock { $0 = restored }
    }
}
