import CMartletSystem
internal import MartletWire

/// An event loop: one thread, one poller, many sockets. It is a serial executor, so an actor can run on it, and a task
/// executor, which the tasks of such an actor prefer: a continuation would otherwise resume them on a thread of the
/// system's executor, which passes them back to the loop.
///
/// A turn waits for readiness, delivers it, runs the submitted jobs, fires the timers, calls the turn-end handlers, and
/// flushes every connection with pending writes once. A loop allocates nothing for an event. Its connections share one
/// read buffer and one write buffer.
///
/// With epoll the loop owns a thread until `shutdown()`; with Dispatch it owns a serial queue. A loop with a host has
/// neither: the host runs its turns, and provides its clocks and its network. The objects of a loop may be used on it
/// only and check this.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {  // Only `queue` is shared.
    /// The mechanism that waits for sockets.
    public enum Backend: Sendable, CaseIterable {
        #if os(Linux)
            case epoll
        #endif
        case dispatch

        #if os(Linux)
            /// The default of the platform: epoll on Linux, Dispatch elsewhere.
            public static let platformDefault = Backend.epoll
        #else
            /// The default of the platform: epoll on Linux, Dispatch elsewhere.
            public static let platformDefault = Backend.dispatch
        #endif
    }

    /// The maximum size of one read, in bytes.
    package static let readBufferByteCount = 128 << 10  // bound
    /// The maximum size of one write, in bytes.
    package static let writeBufferByteCount = 64 << 10  // bound
    /// The maximum number of rounds of jobs that jobs of the same turn submit. Further rounds run in the next turn.
    static let maxJobRoundsPerTurn = 8
    static let maxEndRoundsPerTurn = 8
    /// The maximum number of jobs in a round whose storage is reused.
    static let maxKeptJobCount = 4096

    /// The default loop for all links of a client process. It is never shut down.
    ///
    /// Its first use traps when the system has no thread or descriptor left, because a property cannot throw.
    public static let shared: EventLoop = {
        do throws(TransportError) {
            return try EventLoop(backend: .platformDefault, name: "martlet", isShared: true)
        } catch {
            preconditionFailure("no event loop: \(error)")
        }
    }()

    /// The name of the thread or queue, for debuggers.
    public let name: String
    /// The mechanism that waits for sockets. A loop with a host has no sockets.
    package let backend: Backend
    /// The host; nil for a loop that the system runs.
    package let host: (any LoopHost)?

    private let isShared: Bool
    private let queue = JobQueue()
    private let poller: any Poller

    // The loop accesses all properties below.
    /// The maximum size of the next reads in bytes, at most `readBufferByteCount`. Must be accessed on the loop.
    package var readByteCount = readBufferByteCount
    let readBuffer = LoopBuffer(byteCount: readBufferByteCount)
    let writeBuffer = LoopBuffer(byteCount: writeBufferByteCount)
    /// The application data of connections with TLS: of one read and of an incomplete record before it, and of one
    /// write.
    private(set) lazy var plainReadBuffer = LoopBuffer(
        byteCount: Self.readBufferByteCount + TLSConnection.maxRecordByteCount)
    private(set) lazy var plainWriteBuffer = LoopBuffer(byteCount: Self.writeBufferByteCount)
    /// The payloads of the masked frames of one read of a WebSocket.
    package private(set) lazy var unmaskedBuffer = LoopBuffer(
        byteCount: Self.readBufferByteCount + TLSConnection.maxRecordByteCount)
    private var turnTime: UInt64
    /// The armed timers.
    private var timers = DeadlineQueue<LoopTimer, UInt64>()
    private var jobStorage: [JobQueue.Job] = []
    private let turnEnds = TurnEndList<any TurnEndHandler>()
    private let flushes = TurnEndList<TCPConnection>()
    private var isStopping = false
    private var hasStopped = false
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    /// The stop handlers with the numbers of their additions, which are the order of their calls.
    private var stopHandlers: [ObjectIdentifier: (number: UInt64, handler: any LoopStopHandler)] = [:]
    private var lastStopHandler: UInt64 = 0

    /// Creates and starts a loop.
    ///
    /// Throws `.tooManyDescriptors` or another error when the system has no thread or descriptor left.
    ///
    /// - Parameter spinLimit: The maximum time that the loop polls without sleeping while events follow closely, at
    ///   most one second; zero disables it. After longer work the loop may spin for up to twenty times this limit. With
    ///   epoll only.
    public convenience init(
        backend: Backend = .platformDefault, name: String, spinLimit: Duration = .zero
    ) throws(TransportError) {
        let limit = min(max(spinLimit, .zero), .seconds(1))
        try self.init(backend: backend, name: name, isShared: false, spinLimit: UInt64(limit / .nanoseconds(1)))
    }

    /// Creates a loop whose turns a host runs.
    package init(on host: any LoopHost, name: String) {
        self.name = name
        self.host = host
        isShared = false
        backend = .platformDefault
        turnTime = host.now
        let hosted = HostedPoller(host)
        poller = hosted
        hosted.start(self)
        hosted.wake()
    }

    private init(
        backend: Backend, name: String, isShared: Bool, spinLimit: UInt64 = 0
    ) throws(TransportError) {
        self.name = name
        self.isShared = isShared
        self.backend = backend
        host = nil
        turnTime = martlet_clock()
        switch backend {
        #if os(Linux)
            case .epoll: poller = try EpollPoller(spinLimit: spinLimit)
        #endif
        case .dispatch: poller = DispatchPoller(name: name)
        }
        try poller.start(self)
    }

    // MARK: - Time

    /// The start of the current turn on the loop, and the current time elsewhere, in nanoseconds of `clock`.
    package var now: UInt64 { isOnLoop ? turnTime : currentTime }

    // MARK: - Jobs

    /// Submits a job. The queue has no bound, because an executor may not refuse a job.
    public func enqueue(_ job: consuming ExecutorJob) {
        push(.job(UnownedJob(job)))
    }

    /// Runs `work` on the loop, after all work that this thread submitted before. The queue has no bound.
    package func execute(_ work: @escaping @Sendable () -> Void) {
        push(.work(work))
    }

    private func push(_ job: JobQueue.Job) {
        switch queue.push(job) {
        case .nothing: break
        case .wake: poller.wake()
        case .restart: restart()
        }
    }

    /// Runs the jobs that are submitted after the shutdown, serially, on a temporary thread.
    private func restart() {
        guard backend != .dispatch, host == nil else { return poller.wake() }
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

    // MARK: - End of the turn

    /// Calls `handler` once at the end of this turn, before its writes are flushed. Must be called on the loop.
    package func onTurnEnd(_ handler: any TurnEndHandler) {
        preconditionOnLoop()
        turnEnds.append(handler)
    }

    /// Calls `work` once at the end of this turn, before its writes are flushed. Must be called on the loop.
    package func onTurnEnd(_ work: @escaping () -> Void) {
        onTurnEnd(TurnEndClosure(work))
    }

    func flushAtTurnEnd(_ connection: TCPConnection) {
        flushes.append(connection)
    }

    // MARK: - Shutdown

    /// Stops the loop: notifies the stop handlers, closes all sources, and clears all timers. Connections are aborted
    /// and report `.local`.
    ///
    /// Jobs that are submitted later still run, serially. Must not be called from an actor on this loop, nor on
    /// `shared`.
    public func shutdown() async {
        precondition(!isShared, "the shared loop is never shut down")
        await withCheckedContinuation { continuation in
            execute { self.stop(continuation) }
        }
    }

    /// Adds a handler that is notified once at the shutdown, before any source is closed. Must be called on the loop.
    ///
    /// - Returns: False when the shutdown has begun; the handler is then not notified.
    package func add(_ handler: any LoopStopHandler) -> Bool {
        preconditionOnLoop()
        guard !isStopping else { return false }
        lastStopHandler += 1
        stopHandlers[ObjectIdentifier(handler)] = (lastStopHandler, handler)
        return true
    }

    /// Removes a handler, which is no longer notified. Must be called on the loop.
    package func remove(_ handler: any LoopStopHandler) {
        preconditionOnLoop()
        stopHandlers[ObjectIdentifier(handler)] = nil
    }

    private func stop(_ waiter: CheckedContinuation<Void, Never>) {
        guard !hasStopped else { return waiter.resume() }
        stopWaiters.append(waiter)
        guard !isStopping else { return }
        isStopping = true
        let handlers = stopHandlers.values.sorted { $0.number < $1.number }
        stopHandlers = [:]
        for (_, handler) in handlers { handler.loopWillStop() }
        for source in poller.sources { source.loopWillStop() }
    }

    /// The waiting calls of `shutdown()`, when the shutdown is complete; nil otherwise. It is complete when no source
    /// is open and no job or handler is pending. After it, the thread that runs late jobs owns the state.
    func stopIfDone() -> [CheckedContinuation<Void, Never>]? {
        guard isStopping, poller.isIdle, turnEnds.isEmpty, flushes.isEmpty else { return nil }
        let waiters = stopWaiters
        stopWaiters = []
        hasStopped = true
        // An armed timer and its loop retain each other.
        timers.removeAll()
        if queue.stop() { return waiters }
        stopWaiters = waiters
        return nil
    }

    // MARK: - Turns

    /// Whether the loop has nothing to do before `nextDeadline` or a wake-up.
    func prepareToSleep() -> Bool {
        // A deadline that had passed when the turn began belongs to the next turn. Arming a timer for it would wake the
        // loop at once.
        turnEnds.isEmpty && flushes.isEmpty && nextDeadline > turnTime && queue.prepareToSleep()
    }

    /// The earliest deadline; `UInt64.max` without an armed timer.
    var nextDeadline: UInt64 { timers.earliest ?? .max }

    func beginTurn() {
        turnTime = currentTime
        queue.markRunning()
    }

    func finishTurn() {
        runJobs()
        fireTimers()
        endTurn()
    }

    private func runJobs() {
        let (executor, taskExecutor) = unsafe (asUnownedSerialExecutor(), asUnownedTaskExecutor())
        for _ in 0..<Self.maxJobRoundsPerTurn {
            var jobs = queue.takeAll(reusing: jobStorage)
            jobStorage = []
            for job in jobs {
                switch job {
                case .job(let job): unsafe job.runSynchronously(isolatedTo: executor, taskExecutor: taskExecutor)
                case .work(let work): work()
                }
            }
            let isLast = jobs.isEmpty
            jobs.removeAll(keepingCapacity: jobs.count <= Self.maxKeptJobCount)
            jobStorage = jobs
            if isLast { return }
        }
    }

    private func fireTimers() {
        // A handler may set its timer to a time in the past. Such a timer fires in the next turn.
        for _ in 0..<timers.count {
            guard let timer = timers.popExpired(now: turnTime) else { return }
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

    // MARK: - Timers and sources

    func set(_ deadline: UInt64?, of timer: LoopTimer) {
        guard !hasStopped else { return }
        timers.set(timer, at: deadline)
    }

    func deadline(of timer: LoopTimer) -> UInt64? { timers.deadline(of: timer) }

    func add(
        _ source: any PollSource, _ descriptor: SharedDescriptor, interest: Readiness
    ) throws(TransportError) -> PollKey {
        guard !isStopping else { throw .loopStopped }
        return try poller.add(source, descriptor, interest: interest)
    }

    func setInterest(_ interest: Readiness, of key: PollKey) {
        poller.setInterest(interest, of: key)
    }

    /// Whether a source is registered with the poller.
    var hasSources: Bool { !poller.sources.isEmpty }

    func remove(_ key: PollKey) {
        poller.remove(key)
    }
}
