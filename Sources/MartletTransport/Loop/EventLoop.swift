import CMartletSystem

/// One thread, one poller, many sockets; and a serial executor, so that an actor can live on it.
///
/// A turn: wait until something is ready; deliver what is; run the jobs that other threads, or this one, handed over;
/// fire timers; call who asked for the turn's end; flush every connection that was written to, once. A loop allocates
/// nothing for an event, and its connections share one buffer to read into and one to write from.
///
/// On epoll the loop owns a thread, which runs until `shutdown()`; on Dispatch a serial queue. Everything that belongs
/// to a loop may be used on it only, and checks that.
public final class EventLoop: SerialExecutor, @unchecked Sendable {  // all but the jobs is touched on it only
    /// What waits for the sockets.
    public enum Backend: Sendable, CaseIterable {
        #if os(Linux)
            case epoll
        #endif
        case dispatch

        #if os(Linux)
            /// The platform's own: epoll on Linux, Dispatch elsewhere.
            public static let platformDefault = Backend.epoll
        #else
            /// The platform's own: epoll on Linux, Dispatch elsewhere.
            public static let platformDefault = Backend.dispatch
        #endif
    }

    /// One read gets at most this much.
    public static let readBufferByteCount = 128 << 10
    /// A handler that is asked for bytes to send finds this much room.
    public static let writeBufferByteCount = 64 << 10
    /// Jobs that jobs hand over are run in the same turn this many times, then the sockets have theirs.
    static let maxJobRoundsPerTurn = 8
    static let maxEndRoundsPerTurn = 8
    /// After a burst of more jobs their storage is given back.
    static let maxKeptJobCount = 4096

    /// The loop that a client process runs all its links on unless told otherwise. It is never shut down.
    ///
    /// Its first use traps when the system has no thread or descriptor left for it, since it cannot throw.
    public static let shared: EventLoop = {
        do throws(TransportError) {
            return try EventLoop(backend: .platformDefault, name: "martlet", isShared: true)
        } catch {
            preconditionFailure("no event loop: \(error)")
        }
    }()

    /// For debuggers; the thread and the queue are called so.
    public let name: String
    /// What waits for the sockets.
    public let backend: Backend

    private let isShared: Bool
    private let queue = JobQueue()
    private let poller: any Poller

    // All below belongs to the loop.
    /// Bytes that the next reads get at the most, up to `readBufferByteCount`. On the loop only.
    public var readByteCount = readBufferByteCount
    let readBuffer = LoopBuffer(byteCount: readBufferByteCount)
    let writeBuffer = LoopBuffer(byteCount: writeBufferByteCount)
    private var turnTime: UInt64
    private var timers = TimerHeap()
    private var spareJobs: [JobQueue.Job] = []
    private let turnEnds = TurnEndList<any TurnEndHandler>()
    private let flushes = TurnEndList<TCPConnection>()
    private var isStopping = false
    private var hasStopped = false
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    private var stopHandlers: [ObjectIdentifier: any LoopStopHandler] = [:]

    /// A running loop.
    ///
    /// Throws `.tooManyDescriptors` and the like when the system has no thread or descriptor left for it.
    ///
    /// - Parameter busyPollLimit: while events come so close on each other, the loop looks for the next one so long
    ///   before it sleeps, and after more work than that for as long as it has worked, up to twenty times as long,
    ///   unless it had waited for more than four times as long as it worked. On epoll only, at most a second; zero for
    ///   never.
    public convenience init(
        backend: Backend = .platformDefault, name: String, busyPollLimit: Duration = .zero
    ) throws(TransportError) {
        let limit = min(max(busyPollLimit, .zero), .seconds(1))
        try self.init(backend: backend, name: name, isShared: false, busyPollLimit: UInt64(limit / .nanoseconds(1)))
    }

    private init(
        backend: Backend, name: String, isShared: Bool, busyPollLimit: UInt64 = 0
    ) throws(TransportError) {
        self.name = name
        self.isShared = isShared
        self.backend = backend
        turnTime = martlet_clock()
        switch backend {
        #if os(Linux)
            case .epoll: poller = try EpollPoller(busyPollLimit: busyPollLimit)
        #endif
        case .dispatch: poller = DispatchPoller(name: name)
        }
        try poller.start(self)
    }

    // MARK: time

    /// Nanoseconds of a clock that is never set and, on Linux and Apple systems, goes on while the machine sleeps.
    public static var clock: UInt64 { martlet_clock() }

    /// Milliseconds since 1970 of the clock that people set: to date things, never to measure or wait.
    public static var wallClock: UInt64 { martlet_wall_clock() }

    /// On the loop the time at which its turn began, elsewhere the exact time.
    public var now: UInt64 { isOnLoop ? turnTime : martlet_clock() }

    // MARK: where am I

    /// Whether the caller runs in a turn of this loop.
    public var isOnLoop: Bool {
        unsafe martlet_current_loop() == UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    }

    /// Traps unless called on this loop; costs the load of a thread-local.
    public func preconditionOnLoop(_ function: StaticString = #function) {
        precondition(isOnLoop, "\(function) must be called on the loop \(name)")
    }

    /// The same in debug builds only.
    public func assertOnLoop(_ function: StaticString = #function) {
        assert(isOnLoop, "\(function) must be called on the loop \(name)")
    }

    /// Lets `assumeIsolated` of actors on this loop work in its callbacks.
    public func checkIsolated() {
        preconditionOnLoop()
    }

    /// Lets the runtime ask without trapping.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    public func isIsolatingCurrentContext() -> Bool? {
        isOnLoop
    }

    // MARK: handing over work, from any thread

    /// Queues a job. The queue is not bounded: an executor may not refuse a job.
    public func enqueue(_ job: consuming ExecutorJob) {
        push(.job(UnownedJob(job)))
    }

    /// Runs `work` on the loop, after all that this thread handed over before. Not bounded either.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        push(.work(work))
    }

    private func push(_ job: JobQueue.Job) {
        switch queue.push(job) {
        case .nothing: break
        case .wake: poller.wake()
        case .revive: revive()
        }
    }

    /// Jobs that come after the end are run, one after the other, where there is a thread for them.
    private func revive() {
        guard backend != .dispatch else { return poller.wake() }
        let failure = startThread(named: name) {
            self.becomeCurrent()
            repeat {
                self.beginTurn()
                self.finishTurn()
            } while self.stopIfDone() == nil
            self.resignCurrent()
        }
        precondition(failure == nil, "no thread for the last jobs of an event loop: \(failure as Any)")
    }

    // MARK: the turn's end

    /// Calls `handler` once, before this turn's writes are flushed. On the loop only.
    public func onTurnEnd(_ handler: any TurnEndHandler) {
        preconditionOnLoop()
        turnEnds.append(handler)
    }

    /// Calls `work` once, before this turn's writes are flushed. On the loop only.
    public func onTurnEnd(_ work: @escaping () -> Void) {
        onTurnEnd(TurnEndClosure(work))
    }

    func flushAtTurnEnd(_ connection: TCPConnection) {
        flushes.append(connection)
    }

    // MARK: the end

    /// Tells who asked to be told, closes all that is open on the loop (connections are aborted, their handlers told
    /// `.local`), then stops it. Timers that are set never fire, and are let go.
    ///
    /// Jobs that come later still run, one at a time. Must not be called from an actor on this loop, nor on `shared`.
    public func shutdown() async {
        precondition(!isShared, "the shared loop is never shut down")
        await withCheckedContinuation { continuation in
            execute { self.stop(continuation) }
        }
    }

    /// Tells `handler` once when the loop is shut down, before anything on it is closed, unless it is removed first. On
    /// the loop only.
    ///
    /// - Returns: false when the loop is being shut down already; then the handler is not told.
    public func add(_ handler: any LoopStopHandler) -> Bool {
        preconditionOnLoop()
        guard !isStopping else { return false }
        stopHandlers[ObjectIdentifier(handler)] = handler
        return true
    }

    /// The handler is not told any more. On the loop only.
    public func remove(_ handler: any LoopStopHandler) {
        preconditionOnLoop()
        stopHandlers[ObjectIdentifier(handler)] = nil
    }

    private func stop(_ waiter: CheckedContinuation<Void, Never>) {
        guard !hasStopped else { return waiter.resume() }
        stopWaiters.append(waiter)
        guard !isStopping else { return }
        isStopping = true
        let handlers = stopHandlers.values
        stopHandlers = [:]
        for handler in handlers { handler.loopWillStop() }
        for source in poller.sources { source.loopWillStop() }
    }

    /// Who waits for the end, if this is it: the loop was shut down, nothing is open, and nothing is left to do.
    /// From then on the loop's state belongs to whoever runs the jobs that still come.
    func stopIfDone() -> [CheckedContinuation<Void, Never>]? {
        guard isStopping, poller.isIdle, turnEnds.isEmpty, flushes.isEmpty else { return nil }
        let waiters = stopWaiters
        stopWaiters = []
        hasStopped = true
        // A timer holds its loop: one that stayed armed would keep both for ever.
        timers.removeAll()
        if queue.stop() { return waiters }
        stopWaiters = waiters
        return nil
    }

    // MARK: turns, called by the poller

    func becomeCurrent() {
        unsafe martlet_set_current_loop(UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    }

    func resignCurrent() {
        martlet_set_current_loop(nil)
    }

    /// True when there is nothing to do before `nextDeadline` or a wake.
    func prepareToSleep() -> Bool {
        // A deadline that had passed when the turn began is the next turn's: to arm for it is to be woken at once.
        turnEnds.isEmpty && flushes.isEmpty && timers.earliestKey > turnTime && queue.fallAsleep()
    }

    var nextDeadline: UInt64 { timers.earliestKey }

    func beginTurn() {
        turnTime = martlet_clock()
        queue.markAwake()
    }

    func finishTurn() {
        runJobs()
        fireTimers()
        endTurn()
    }

    private func runJobs() {
        let executor = unsafe asUnownedSerialExecutor()
        for _ in 0..<Self.maxJobRoundsPerTurn {
            var jobs = queue.take(leaving: spareJobs)
            spareJobs = []
            for job in jobs {
                switch job {
                case .job(let job): unsafe job.runSynchronously(on: executor)
                case .work(let work): work()
                }
            }
            let isLast = jobs.isEmpty
            jobs.removeAll(keepingCapacity: jobs.count <= Self.maxKeptJobCount)
            spareJobs = jobs
            if isLast { return }
        }
    }

    private func fireTimers() {
        // A handler may set its timer again for a time that has passed: then it is the next turn's.
        for _ in 0..<timers.count {
            guard let timer = timers.popDue(at: turnTime) else { return }
            timer.fire()
        }
    }

    private func endTurn() {
        for _ in 0..<Self.maxEndRoundsPerTurn {
            turnEnds.drain { $0.loopTurnWillEnd() }
            if !turnEnds.isEmpty { continue }
            flushes.drain { $0.turnEnded() }
            if turnEnds.isEmpty && flushes.isEmpty { return }
        }
    }

    // MARK: for what lives on the loop

    func set(_ deadline: UInt64?, of timer: LoopTimer) {
        guard !hasStopped else { return }
        timer.set(deadline: deadline, in: &timers)
    }

    func add(
        _ source: any PollSource, _ descriptor: SharedDescriptor, interest: Readiness
    ) throws(TransportError) -> PollKey {
        guard !isStopping else { throw .loopStopped }
        return try poller.add(source, descriptor, interest: interest)
    }

    func setInterest(_ interest: Readiness, of key: PollKey) {
        poller.setInterest(interest, of: key)
    }

    var hasSources: Bool { !poller.sources.isEmpty }

    func remove(_ key: PollKey) {
        poller.remove(key)
    }
}
