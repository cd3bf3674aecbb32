/// The TLS side of clients: the trusted certificates, and sessions for resumption. It can be shared by clients and
/// threads.
package final class TLSClient: Sendable {
    /// The maximum number of hosts whose latest session is kept.
    static let maxSessions = 64

    private let context: TLSContext
    private let serverName: String?
    /// The latest session of each server. TLS 1.3 uses each once (RFC 8446 appendix C.4).
    private let sessions = Guarded<[String: TLSSession]>([:])

    /// Reads the files of the options. Throws `TLSError.invalidFile`, `.keyMismatch` or `.weakKey`, and `.invalidHost`
    /// for a `serverName` that is neither a host name nor an address.
    package init(_ options: TLSClientOptions = TLSClientOptions()) throws(TLSError) {
        if let name = options.serverName, (try? Endpoint(host: name)) == nil { throw .invalidHost(name) }
        context = try TLSContext(client: options)
        serverName = options.serverName
    }

    /// Returns TLS over a transport to the endpoint, neither of them started. Throws `TLSError.invalidHost`.
    package func transport(over lower: any Transport, to endpoint: Endpoint) throws(TLSError) -> TLSTransport {
        TLSTransport(try connection(to: endpoint), over: lower) { [weak self] in self?.keep($0, of: endpoint) }
    }

    /// - Parameters:
    ///   - clock: The time on the loops' clock.
    ///   - wallClock: Milliseconds since 1970.
    func connection(
        to endpoint: Endpoint, clock: UInt64 = EventLoop.clock, wallClock: UInt64 = EventLoop.wallClock
    ) throws(TLSError) -> TLSConnection {
        let session = sessions.withLock { $0.removeValue(forKey: Self.key(endpoint)) }
        let isValid = session?.isValid(clock: clock, wallClock: wallClock) ?? false
        return try TLSConnection(
            client: context, host: String((serverName ?? endpoint.host).withoutFinalDot),
            resuming: isValid ? session : nil,
            offersWeb: endpoint.webSocketPath != nil)
    }

    func keep(_ session: TLSSession, of endpoint: Endpoint) {
        let server = Self.key(endpoint)
        sessions.withLock { sessions in
            if sessions.count >= Self.maxSessions, sessions[server] == nil { sessions.removeAll() }
            sessions[server] = session
        }
    }

    private static func key(_ endpoint: Endpoint) -> String { "\(endpoint.host):\(endpoint.port)" }
}
