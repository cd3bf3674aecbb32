import MartletLink
public import MartletTransport
public import MartletWebSocket

extension Relay {
    /// The addresses and bounds of a relay. All bounds have defaults. A relay with a bound out of its range is not
    /// started: ``Relay/start()`` throws `invalidConfiguration`. Counts are at least 1 unless stated, and timeouts are
    /// positive.
    ///
    /// A relay runs on one loop, and thus one processor, unless `loopCount` is larger.
    public struct Configuration: Sendable {
        /// The addresses to listen on. Port 0 lets the system choose. `::` includes IPv4, unless `0.0.0.0` is listed
        /// with the same port.
        public var addresses: [SocketAddress]
        /// The name of the relay among those of its bus; nil for its first address.
        public var name: String?
        /// The bounds of connections, links and rooms.
        public var engine = RelayConfiguration()
        /// The certificate and other options of TLS; nil for connections in the clear.
        public var tls: TLSServerOptions?
        /// Whether a relay without TLS may listen on addresses other than those of the loopback interface. Every
        /// host on the network path can then read and change messages, and take over accounts.
        public var allowsPlaintext = false
        /// The options of accepted connections.
        public var connection = TCPOptions()
        /// The maximum number of connections accepted at each address in any second, 2 or more; nil for no maximum.
        /// Further connections wait in the system's backlog, so a mass reconnect does not delay connected clients
        /// (Specs/hostile.md row 30).
        public var maxAcceptsPerSecond: Int? = 1500
        /// The bounds on connections and failed authentications of one address.
        public var limits = PeerLimits()
        /// The peers to which `limits` do not apply, for example an office with many clients behind one address.
        /// Guesses from there are bounded by the delay of the account only (C-113).
        public var unlimitedPeers: [IPNetwork] = []
        /// The proxies whose connections begin with a header of the PROXY protocol, version 1 or 2. The address that it
        /// states is the peer's for `limits` and events. A connection from them without a valid header within
        /// `engine.link.handshakeTimeout` is closed (C-114, Specs/hostile.md row 105).
        public var proxies: [IPNetwork] = []
        /// The WebSockets that the relay accepts beside connections without HTTP, on the same addresses; nil for none.
        public var webSockets: WebSocketOptions? = WebSocketOptions()
        /// The maximum number of concurrent authentications. A further hello is answered with `serverBusy`.
        public var maxAuthentications = 1024
        /// The maximum number of concurrent calls of the `RequestHandler`. A further request is answered with
        /// `serverBusy`.
        public var maxRequests = 1024
        /// The duration after which a client that received `serverBusy` may connect again.
        public var busyRetryAfter: Duration = .seconds(5)
        /// The number of loops, each on its own thread, 1 to 64. Accounts and rooms are spread over them by name. Each
        /// loop applies the bounds of `engine`, `maxAuthentications` and `maxRequests` separately.
        public var loopCount = 1
        /// The maximum duration for which a loop spins while messages follow closely, at most one second. Zero disables
        /// spinning and saves processor time. After longer work a loop spins for up to twenty times this limit. Linux
        /// only.
        public var spinLimit: Duration = .microseconds(50)
        /// The free space of the file system of the store, by which the relay refuses messages before the disk is full,
        /// and reports it; nil for a store without one.
        public var disk: DiskSpace?
        /// The timeout of the drain when the task of `run()` is cancelled.
        public var drainTimeout: Duration = .seconds(10)
        /// The interval at which the relay notifies the store of the rooms that have members.
        package var touchInterval: Duration = .seconds(3600)
        /// Listening sockets of the process, which are used for those of `addresses` that are theirs.
        package var sockets: [TCPListener.Socket] = []
        /// The host of the loops; nil for loops of the system.
        package var host: (any LoopHost)?

        /// The first property out of its range, and the range; nil if all are valid.
        var fault: String? {
            let counts: [(name: String, value: Int, range: ClosedRange<Int>)] = [
                ("maxAcceptsPerSecond", maxAcceptsPerSecond ?? 2, 2...(.max)),
                ("maxAuthentications", maxAuthentications, 1...(.max)), ("maxRequests", maxRequests, 1...(.max)),
                ("loopCount", loopCount, 1...LoopPlace.maxCount),
                ("limits.maxConnections", limits.maxConnections, 1...(.max)),
                ("limits.maxHandshakes", limits.maxHandshakes, 1...(.max)),
                ("limits.maxTotalHandshakes", limits.maxTotalHandshakes, 1...(.max)),
                ("limits.maxFailures", limits.maxFailures, 1...(.max)),
                (
                    "limits.failureBurst", limits.failureBurst == .max ? 1 : limits.failureBurst,
                    1...PeerLimits.maxFailureRate
                ), ("limits.failuresPerMinute", limits.failuresPerMinute, 1...PeerLimits.maxFailureRate),
                ("engine.link.maxConnections", engine.link.maxConnections, 1...(.max)),
                ("engine.link.maxLinks", engine.link.maxLinks, 1...(.max)),
                ("engine.maxLinksPerAccount", engine.maxLinksPerAccount, 1...(.max)),
                ("engine.link.maxSuspendedLinks", engine.link.maxSuspendedLinks, 0...(.max)),
                ("engine.memoryBudget", engine.memoryBudget, 1...(.max)),
                ("engine.link.maxResumeAttempts", engine.link.maxResumeAttempts, 0...(.max)),
                ("engine.roomRoles.maxRoomsPerAccount", engine.roomRoles?.maxRoomsPerAccount ?? 0, 0...(.max)),
            ]
            if let wrong = counts.first(where: { !$0.range.contains($0.value) }) {
                let most = wrong.range.upperBound
                let range = most == .max ? "at least \(wrong.range.lowerBound)" : "\(wrong.range.lowerBound) to \(most)"
                return "\(wrong.name) is \(wrong.value), not \(range)"
            }
            let times: [(name: String, value: Duration)] = [
                ("engine.link.handshakeTimeout", engine.link.handshakeTimeout),
                ("engine.link.authTimeout", engine.link.authTimeout),
                ("engine.link.frameTimeout", engine.link.frameTimeout),
                ("engine.link.idleTimeout", engine.link.idleTimeout),
                ("engine.link.slowConsumerTimeout", engine.link.slowConsumerTimeout),
                ("engine.policyTimeout", engine.policyTimeout), ("engine.undeliveredDelay", engine.undeliveredDelay),
            ]
            if let fault = webSockets?.fault { return fault }
            return times.first { $0.value <= .zero }.map { "\($0.name) is not positive" }
        }

        /// Creates a configuration with these addresses.
        public init(addresses: [SocketAddress]) {
            self.addresses = addresses
        }

        /// Creates a configuration with an IP address, such as "127.0.0.1", "::" or "0.0.0.0".
        ///
        /// - Throws: `RelayError.invalidAddress`.
        public init(address: String = "127.0.0.1", port: UInt16 = Endpoint.defaultPort) throws(RelayError) {
            guard let ip = IPAddress(address) else { throw .invalidAddress(address) }
            self.init(addresses: [SocketAddress(ip, port: port)])
        }
    }
}
