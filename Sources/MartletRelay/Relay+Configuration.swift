public import MartletProtocol
public import MartletTransport

extension Relay {
    /// Where a relay listens, and its bounds; every one but the address has a default.
    ///
    /// A relay runs on one loop, thus on one processor, unless `loopCount` says otherwise.
    public struct Configuration: Sendable {
        /// What is listened on; port 0 lets the system choose. `::` takes IPv4 too, unless `0.0.0.0` is listened on at
        /// the same port.
        public var addresses: [SocketAddress]
        /// The bounds of connections, links and rooms.
        public var engine = RelayConfiguration()
        /// What accepted connections get.
        public var connection = TCPOptions()
        /// Connections accepted at each address in any second at the most, 2 or more, so that all who come at once, as
        /// after a relay's death, do not keep those who are there waiting (Specs/hostile.md row 30). The others wait in
        /// the system's backlog; nil accepts as fast as they come.
        public var maxAcceptsPerSecond: Int? = 1500
        /// Authentications under way at the most; a hello beyond them is told `serverBusy`.
        public var maxAuthentications = 1024
        /// Requests with the relay's `RequestHandler` at the most; one beyond them is answered `serverBusy`.
        public var maxRequests = 1024
        /// How long a client that is told `serverBusy` is asked to stay away.
        public var busyRetryAfter: Duration = .seconds(5)
        /// Loops, each on a thread of its own, 1 to 64. Accounts and rooms are spread over them by their names; each
        /// loop keeps the bounds of `engine`, `maxAuthentications` and `maxRequests` for itself.
        public var loopCount = 1
        /// While messages come closer on each other than this, the relay's loop looks for the next one so long before
        /// it sleeps, so that none waits until it is awake; and after more work than this for as long as it has worked,
        /// up to twenty times this, unless it had waited for more than four times as long before. Zero spares the
        /// processor. On Linux only, at most a second.
        public var spinLimit: Duration = .microseconds(50)
        /// How long `run()` drains when its task is cancelled.
        public var drainTimeout: Duration = .seconds(10)

        /// Listens on these addresses.
        public init(addresses: [SocketAddress]) {
            self.addresses = addresses
        }

        /// Listens on an IP address, such as "127.0.0.1", "::" or "0.0.0.0".
        ///
        /// Throws `RelayError.invalidAddress`.
        public init(address: String = "127.0.0.1", port: UInt16 = Endpoint.defaultPort) throws(RelayError) {
            guard let ip = IPAddress(address) else { throw .invalidAddress(address) }
            self.init(addresses: [SocketAddress(ip, port: port)])
        }
    }
}
