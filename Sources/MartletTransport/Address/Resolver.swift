import CMartletSystem

/// Resolves names with getaddrinfo on threads of its own, because a lookup may block for a minute.
///
/// Threads exist only while there are names to look up, and a name occupies at most one. Numeric addresses and
/// `localhost` need no thread. The queue is bounded, and a cancelled request leaves it. A running lookup cannot be
/// stopped; its result is ignored.
package final class Resolver: Sendable {
    /// The default resolver of all connectors.
    package static let shared = Resolver()
    /// The maximum number of addresses kept of one result.
    package static let maxAddressCount = 32
    /// The maximum number of pending requests, including those for the same name.
    package static let maxRequestCount = 65_536
    /// The maximum number of names that are looked up at once. Names whose last lookup failed leave one thread to
    /// others.
    package static let defaultThreadCount = 8  // bound
    /// The maximum number of names that wait for a thread.
    package static let defaultQueuedCount = 64  // bound

    typealias Lookup = @Sendable (_ host: String) -> Result<[IPAddress], TransportError>

    /// A pending request.
    package struct Request: Sendable {
        fileprivate let cancellation: (@Sendable () -> Void)?

        /// Cancels the request. Unless it is complete, its completion is called with `.cancelled` before this returns.
        package func cancel() { cancellation?() }
    }

    private struct Waiter: Sendable {
        var port: UInt16
        var completion: @Sendable (Result<[SocketAddress], TransportError>) -> Void
    }

    private struct State: Sendable {
        var table: LookupTable<Waiter>
        var requestNumber: UInt64 = 0
    }

    private let state: Guarded<State>
    private let lookup: Lookup

    /// Creates a resolver with at most `threadCount` concurrent lookups and `maxQueuedCount` queued names.
    package convenience init(threadCount: Int = defaultThreadCount, maxQueuedCount: Int = defaultQueuedCount) {
        self.init(threadCount: threadCount, maxQueuedCount: maxQueuedCount, lookup: systemLookup)
    }

    init(threadCount: Int = defaultThreadCount, maxQueuedCount: Int = defaultQueuedCount, lookup: @escaping Lookup) {
        precondition(threadCount > 0 && maxQueuedCount > 0)
        let table = LookupTable<Waiter>(
            maxThreadCount: threadCount, maxQueuedNameCount: maxQueuedCount, maxRequestCount: Self.maxRequestCount)
        state = Guarded(State(table: table))
        self.lookup = lookup
    }

    /// The addresses of `host`, interleaved by family (RFC 8305 §4), at most `maxAddressCount`.
    ///
    /// Throws `.resolutionFailed`, `.noAddresses`, `.resolverBusy`, or `.cancelled` when the task is cancelled. A
    /// numeric host and `localhost` (RFC 6761 §6.3) complete at once.
    package func resolve(host: String, port: UInt16) async throws(TransportError) -> [SocketAddress] {
        let request = Guarded<Request?>(nil)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let new = resolve(host: host, port: port) { continuation.resume(returning: $0) }
                request.withLock { $0 = new }
                // The task was cancelled before `request` was set.
                if Task.isCancelled { new.cancel() }
            }
        } onCancel: {
            request.withLock { $0 }?.cancel()
        }
        return try result.get()
    }

    /// Resolves `host` with a completion, called exactly once, on a thread of the resolver or before this returns.
    @discardableResult
    package func resolve(
        host: String, port: UInt16, completion: @escaping @Sendable (Result<[SocketAddress], TransportError>) -> Void
    ) -> Request {
        if let addresses = Self.localAddresses(of: host) {
            completion(.success(addresses.map { SocketAddress($0, port: port) }))
            return Request(cancellation: nil)
        }
        let host = host.lowercased()
        let (number, admission) = state.withLock { state in
            state.requestNumber += 1
            let waiter = Waiter(port: port, completion: completion)
            return (state.requestNumber, state.table.add(waiter, number: state.requestNumber, for: host))
        }
        switch admission {
        case .queued: break
        case .needsThread: startLookupThread()
        case .refused: completion(.failure(.resolverBusy))
        }
        return Request { self.cancel(number, host) }
    }

    /// The addresses that need no lookup: numeric hosts and the names of this host (RFC 6761 §6.3).
    private static func localAddresses(of host: String) -> [IPAddress]? {
        if let ip = IPAddress(host) { return [ip] }
        let name = host.lowercased()
        let labels = name.hasSuffix(".") ? name.dropLast() : name[...]
        return labels == "localhost" || labels.hasSuffix(".localhost") ? [.loopbackV6, .loopbackV4] : nil
    }

    private func cancel(_ number: UInt64, _ host: String) {
        state.withLock { $0.table.cancel(number: number, for: host) }?.completion(.failure(.cancelled))
    }

    private func startLookupThread() {
        guard let failure = startThread(named: "martlet-dns", { self.runLookups() }) else { return }
        for waiter in state.withLock({ $0.table.threadFailed() }) { waiter.completion(.failure(failure)) }
    }

    private func runLookups() {
        while let host = state.withLock({ $0.table.next() }) {
            let result = lookup(host)
            let isFailure = if case .failure = result { true } else { false }
            let waiters = state.withLock { $0.table.ended(host, isFailure: isFailure) }
            for waiter in waiters { waiter.completion(result.flatMap { Self.answer($0, waiter.port) }) }
        }
    }

    private static func answer(_ found: [IPAddress], _ port: UInt16) -> Result<[SocketAddress], TransportError> {
        let addresses = interleaveFamilies(found.map { SocketAddress($0, port: port) })
        return addresses.isEmpty ? .failure(.noAddresses) : .success(Array(addresses.prefix(maxAddressCount)))
    }
}

@Sendable
private func systemLookup(_ host: String) -> Result<[IPAddress], TransportError> {
    guard !host.utf8.contains(0) else { return .failure(.noAddresses) }
    var failure: Int32 = 0
    var systemError: Int32 = 0
    var addresses = [martlet_address](repeating: martlet_address(), count: Resolver.maxAddressCount)
    let count = unsafe martlet_resolve(host, &addresses, Int32(Resolver.maxAddressCount), &failure, &systemError)
    if systemError != 0 { return .failure(TransportError(errno: systemError, call: "getaddrinfo")) }
    if failure != 0 {
        let text = systemText { unsafe martlet_resolve_text(failure, &$0, $1) }
        return .failure(.resolutionFailed(code: failure, text: text))
    }
    return .success(addresses.prefix(Int(count)).compactMap { IPAddress($0) })
}
