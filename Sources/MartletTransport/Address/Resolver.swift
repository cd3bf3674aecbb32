import CMartletSystem

/// Looks names up with getaddrinfo, on threads of its own: a lookup may block for a minute, and a loop must not.
///
/// Threads exist only while there are names to look up. The queue is bounded; a lookup that has begun cannot be
/// stopped, only its answer ignored.
public final class Resolver: Sendable {
    /// What all connectors use unless told otherwise.
    public static let shared = Resolver()
    /// Addresses kept of one answer.
    public static let maxAddressCount = 32

    typealias Lookup = @Sendable (_ host: String) -> Result<[IPAddress], TransportError>

    private struct Request: Sendable {
        var host: String
        var port: UInt16
        var completion: @Sendable (Result<[SocketAddress], TransportError>) -> Void
    }

    private struct State: Sendable {
        var queue: [Request] = []
        var threadCount = 0
    }

    private let state = Guarded(State())
    private let maxThreadCount: Int
    private let maxQueuedCount: Int
    private let lookup: Lookup

    /// At most `threadCount` lookups at once, with at most `maxQueuedCount` waiting.
    public convenience init(threadCount: Int = 2, maxQueuedCount: Int = 64) {
        self.init(threadCount: threadCount, maxQueuedCount: maxQueuedCount, lookup: systemLookup)
    }

    init(threadCount: Int = 2, maxQueuedCount: Int = 64, lookup: @escaping Lookup) {
        precondition(threadCount > 0 && maxQueuedCount > 0)
        self.maxThreadCount = threadCount
        self.maxQueuedCount = maxQueuedCount
        self.lookup = lookup
    }

    /// The addresses of `host`, interleaved by family (RFC 8305 §4), at most `maxAddressCount`.
    ///
    /// Throws `.resolutionFailed`, `.noAddresses` or `.resolverBusy`. A numeric host is answered at once.
    public func resolve(host: String, port: UInt16) async throws(TransportError) -> [SocketAddress] {
        let result = await withCheckedContinuation { continuation in
            resolve(host: host, port: port) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// The same with a completion, called exactly once, on a thread of the resolver or before this returns.
    public func resolve(
        host: String, port: UInt16, completion: @escaping @Sendable (Result<[SocketAddress], TransportError>) -> Void
    ) {
        if let ip = IPAddress(host) { return completion(.success([SocketAddress(ip, port: port)])) }
        let request = Request(host: host, port: port, completion: completion)
        let isStartingThread: Bool? = state.withLock { state in
            if state.threadCount < maxThreadCount {
                state.queue.append(request)
                state.threadCount += 1
                return true
            }
            guard state.queue.count < maxQueuedCount else { return nil }
            state.queue.append(request)
            return false
        }
        guard let isStartingThread else { return completion(.failure(.resolverBusy)) }
        guard isStartingThread, let failure = startThread(named: "martlet-dns", { self.work() }) else { return }
        let abandoned = state.withLock { state in
            state.threadCount -= 1
            defer { if state.threadCount == 0 { state.queue = [] } }
            return state.threadCount == 0 ? state.queue : []
        }
        for request in abandoned { request.completion(.failure(failure)) }
    }

    private func work() {
        while let request = nextRequest() {
            request.completion(
                lookup(request.host).flatMap { found in
                    let addresses = interleaveFamilies(found.map { SocketAddress($0, port: request.port) })
                    return addresses.isEmpty
                        ? .failure(.noAddresses) : .success(Array(addresses.prefix(Self.maxAddressCount)))
                })
        }
    }

    private func nextRequest() -> Request? {
        state.withLock { state in
            if state.queue.isEmpty {
                state.threadCount -= 1
                return nil
            }
            return state.queue.removeFirst()
        }
    }
}

@Sendable
private func systemLookup(_ host: String) -> Result<[IPAddress], TransportError> {
    guard !host.utf8.contains(0) else { return .failure(.noAddresses) }
    var failure: Int32 = 0
    var systemError: Int32 = 0
    let addresses = unsafe [martlet_address](unsafeUninitializedCapacity: Resolver.maxAddressCount) { buffer, count in
        guard let start = buffer.baseAddress else { return }
        count = unsafe Int(martlet_resolve(host, start, Int32(buffer.count), &failure, &systemError))
    }
    if systemError != 0 { return .failure(TransportError(errno: systemError, call: "getaddrinfo")) }
    if failure != 0 {
        let text = unsafe systemText { unsafe martlet_resolve_text(failure, $0, $1) }
        return .failure(.resolutionFailed(code: failure, text: text))
    }
    return .success(addresses.compactMap { IPAddress($0) })
}
