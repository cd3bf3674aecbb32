/// The names to look up, their order, and the requests for each. The owner provides the threads.
///
/// | state of a name | transitions |
/// |---|---|
/// | queued | further requests join; the cancellation of its last request removes it |
/// | running | further requests join, so a name occupies at most one thread; its result removes it |
///
/// A name whose last lookup failed may not occupy the last free thread, so names that do not resolve leave a thread to
/// those that do.
struct LookupTable<Request: Sendable>: Sendable {
    /// The admission of a request.
    enum Admission: Equatable {
        /// A running lookup or thread will complete it.
        case queued
        /// A new thread must be started.
        case needsThread
        /// The table is full.
        case refused
    }

    private struct Name {
        var isRunning = false
        var requests: [UInt64: Request] = [:]
    }

    private let maxThreadCount: Int
    private let maxQueuedNameCount: Int
    private let maxRequestCount: Int
    private var names: [String: Name] = [:]
    /// The names that are not running, oldest first.
    private var queue: [String] = []
    /// The names whose last lookup failed, oldest first; at most `maxQueuedNameCount`.
    private var failedNames: [String] = []
    private var runningFailedCount = 0
    private var threadCount = 0
    private var requestCount = 0

    init(maxThreadCount: Int, maxQueuedNameCount: Int, maxRequestCount: Int) {
        self.maxThreadCount = maxThreadCount
        self.maxQueuedNameCount = maxQueuedNameCount
        self.maxRequestCount = maxRequestCount
    }

    // MARK: - Requests

    /// Adds a request for the addresses of `name` under a unique number.
    mutating func add(_ request: Request, number: UInt64, for name: String) -> Admission {
        guard requestCount < maxRequestCount else { return .refused }
        let isNew = names[name] == nil
        if isNew {
            // The name of a thread to be started does not count.
            guard queue.count < maxQueuedNameCount + (threadCount < maxThreadCount ? 1 : 0) else { return .refused }
            queue.append(name)
        }
        names[name, default: Name()].requests[number] = request
        requestCount += 1
        guard isNew, threadCount < maxThreadCount, mayRun(name) else { return .queued }
        threadCount += 1
        return .needsThread
    }

    /// Removes a request and returns it; nil if it is already complete.
    mutating func cancel(number: UInt64, for name: String) -> Request? {
        guard let request = names[name]?.requests.removeValue(forKey: number) else { return nil }
        requestCount -= 1
        if let rest = names[name], rest.requests.isEmpty, !rest.isRunning {
            names[name] = nil
            queue.removeAll { $0 == name }
        }
        return request
    }

    // MARK: - Threads

    /// The next name for a thread; nil if there is none, and then the thread ends.
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

    /// Ends a lookup and returns its requests.
    mutating func ended(_ name: String, isFailure: Bool) -> [Request] {
        if let index = failedNames.firstIndex(of: name) {
            failedNames.remove(at: index)
            runningFailedCount -= 1
        }
        if isFailure {
            if failedNames.count == maxQueuedNameCount { removeOldestFailure() }
            failedNames.append(name)
        }
        return take(name)
    }

    /// A requested thread could not be started. Returns the requests that no other thread will complete.
    mutating func threadFailed() -> [Request] {
        threadCount -= 1
        return threadCount == 0 ? queue.flatMap { take($0) } : []
    }

    /// A running name stays in the list until its lookup ends.
    private mutating func removeOldestFailure() {
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
