/// Which names are looked up, in which order and for which requests; the threads are its owner's.
///
/// | a name is | and then |
/// |---|---|
/// | queued | further requests for it join it; it goes when its last request is cancelled |
/// | running | further requests for it join it, so that it takes one thread at the most; it ends with its answer |
///
/// A name whose last lookup failed may not take the last thread: names that do not resolve, however many, leave one
/// to those that do.
struct LookupTable<Request: Sendable>: Sendable {
    /// What is to be done about a request.
    enum Admission: Equatable {
        /// A lookup under way or a thread at work will answer it.
        case waits
        /// One thread more is to be started for it.
        case needsThread
        /// There is no space for it.
        case isRefused
    }

    private struct Name {
        var isRunning = false
        var requests: [UInt64: Request] = [:]
    }

    private let maxThreadCount: Int
    private let maxQueuedNameCount: Int
    private let maxRequestCount: Int
    private var names: [String: Name] = [:]
    /// The names that are not running, the oldest first.
    private var queue: [String] = []
    /// Names whose last lookup failed, the oldest first; as many as may be queued.
    private var failedNames: [String] = []
    private var runningFailedCount = 0
    private var threadCount = 0
    private var requestCount = 0

    init(maxThreadCount: Int, maxQueuedNameCount: Int, maxRequestCount: Int) {
        self.maxThreadCount = maxThreadCount
        self.maxQueuedNameCount = maxQueuedNameCount
        self.maxRequestCount = maxRequestCount
    }

    // MARK: Requests

    /// A request for the addresses of `name`; `number` is its own.
    mutating func add(_ request: Request, number: UInt64, for name: String) -> Admission {
        guard requestCount < maxRequestCount else { return .isRefused }
        let isNew = names[name] == nil
        if isNew {
            // A thread to be started takes its name out of the queue.
            guard queue.count < maxQueuedNameCount + (threadCount < maxThreadCount ? 1 : 0) else { return .isRefused }
            queue.append(name)
        }
        names[name, default: Name()].requests[number] = request
        requestCount += 1
        guard isNew, threadCount < maxThreadCount, mayRun(name) else { return .waits }
        threadCount += 1
        return .needsThread
    }

    /// The request is answered elsewhere; nil when it has its answer.
    mutating func cancel(number: UInt64, for name: String) -> Request? {
        guard let request = names[name]?.requests.removeValue(forKey: number) else { return nil }
        requestCount -= 1
        if let rest = names[name], rest.requests.isEmpty, !rest.isRunning {
            names[name] = nil
            queue.removeAll { $0 == name }
        }
        return request
    }

    // MARK: Threads

    /// The name that a thread looks up next; nil when there is none, and then the thread ends.
    mutating func next() -> String? {
        guard let index = queue.firstIndex(where: mayRun) else {
            threadCount -= 1
            return nil
        }
        let name = queue.remove(at: index)
        names[name]?.isRunning = true
        if failedNames.contains(name) { runningFailedCount += 1 }
        return name
    }

    /// A lookup has ended: the requests that it answers.
    mutating func ended(_ name: String, isFailure: Bool) -> [Request] {
        if let index = failedNames.firstIndex(of: name) {
            failedNames.remove(at: index)
            runningFailedCount -= 1
        }
        if isFailure {
            if failedNames.count == maxQueuedNameCount { forgetFailure() }
            failedNames.append(name)
        }
        return take(name)
    }

    /// A thread that was asked for could not be started: the requests that no other thread will answer.
    mutating func threadFailed() -> [Request] {
        threadCount -= 1
        return threadCount == 0 ? queue.flatMap { take($0) } : []
    }

    /// One that runs is counted as such until it ends.
    private mutating func forgetFailure() {
        if let index = failedNames.firstIndex(where: { names[$0]?.isRunning != true }) { failedNames.remove(at: index) }
    }

    private mutating func take(_ name: String) -> [Request] {
        queue.removeAll { $0 == name }
        let requests = names.removeValue(forKey: name)?.requests ?? [:]
        requestCount -= requests.count
        return requests.sorted { $0.key < $1.key }.map(\.value)
    }

    private func mayRun(_ name: String) -> Bool {
        runningFailedCount < max(maxThreadCount - 1, 1) || !failedNames.contains(name)
    }
}
