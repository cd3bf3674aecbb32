import MartletHTTP
public import MartletRelay
public import MartletTransport
public import MartletWire

/// A port of a relay for machines and browsers of its administrators, by HTTP/1.1.
///
/// | path | answer |
/// |---|---|
/// | `/` | the status page, which shows the events |
/// | `/metrics` | the metrics in the format of OpenMetrics 1.0, or of Prometheus 0.0.4 |
/// | `/health/live` | 200 while the process answers |
/// | `/health/ready` | 200 while the relay serves clients fully, otherwise 503 with what prevents it |
/// | `/events` | server-sent events: the metrics of the last five minutes and every two seconds, status cards |
///
/// The port changes nothing. It has a loop of its own, so a slow reader delays no client of the relay, and 256
/// connections, of one address too (Specs/hostile.md row 133). `/` and `/health` contain no data of users and are
/// answered without credentials. The object keeps the relay; its release ends the port.
public final class AdminServer: Sendable {
    /// The addresses and the credentials of a port.
    public struct Configuration: Sendable {
        /// The addresses to listen on. Port 0 lets the system choose.
        public var addresses: [SocketAddress]
        /// The certificate and other options of TLS; nil for connections in the clear, on loopback addresses only.
        /// Clients name the protocol "http/1.1" (RFC 7301), as browsers, curl and Prometheus do.
        public var tls: TLSServerOptions?
        /// The token that `/metrics` and `/events` require (`Authorization: Bearer`, RFC 6750), 16 to 512 printable
        /// ASCII characters without a space; nil for none. On an address that is not a loopback address, a request has
        /// the token or a verified client certificate.
        public var token: String?
        /// The rooms whose status cards the events and the status page show to every reader, at most
        /// ``AdminServer/maxCardRoomCount``.
        public var cardRooms: [RoomName] = []
        /// Listening sockets of the process, which are used for those of `addresses` that are theirs.
        package var sockets: [TCPListener.Socket] = []

        /// Creates a configuration with these addresses.
        public init(addresses: [SocketAddress]) { self.addresses = addresses }
    }

    /// The maximum number of rooms whose cards are shown. The port does not start with more.
    public static let maxCardRoomCount = 8

    private enum Phase {
        case idle
        case running(Running)
        case stopped
    }

    private struct Running: Sendable {
        let loops: EventLoopGroup
        let driver: AdminDriver
        let listeners: [any TransportListener]

        func end() async {
            for listener in listeners { await listener.closeAndWait() }
            await withCheckedContinuation { continuation in
                driver.loop.execute { [driver] in
                    driver.close()
                    continuation.resume()
                }
            }
            await loops.shutdown()
        }
    }

    private let relay: Relay
    private let configuration: Configuration
    private let alerts: AlertMonitor?
    private let phase = Guarded(Phase.idle)

    /// Creates a port that is not started.
    ///
    /// - Parameters:
    ///   - relay: The relay whose metrics the port serves.
    ///   - configuration: The addresses of the port, and the access to it.
    ///   - alerts: The monitor whose alerts the events and the status page show; nil for none.
    public init(_ relay: Relay, configuration: Configuration, alerts: AlertMonitor? = nil) {
        self.relay = relay
        self.alerts = alerts
        self.configuration = configuration
    }

    deinit {
        guard case .running(let running) = phase.withLock({ $0 }) else { return }
        running.driver.loop.startTask { await running.end() }
    }

    /// Starts to listen, and returns the addresses with the ports that the system chose. After an error the port can be
    /// started again.
    @discardableResult
    public func start() throws(AdminError) -> [SocketAddress] {
        try phase.withLock { phase throws(AdminError) in
            guard case .idle = phase else { throw .alreadyStarted }
            let running = try listen()
            phase = .running(running)
            return running.listeners.map(\.localAddress)
        }
    }

    /// The addresses on which the port listens; empty unless it runs.
    public var addresses: [SocketAddress] {
        phase.withLock { if case .running(let running) = $0 { running.listeners.map(\.localAddress) } else { [] } }
    }

    /// Closes all connections, and returns when the ports are free.
    public func shutdown() async {
        let last: Phase = phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
        if case .running(let running) = last { await running.end() }
    }

    /// Replaces the token, and reads the files of TLS again. Existing connections are not affected.
    ///
    /// - Throws: `invalidToken`, `credentialsRequired`, `invalidTLS`, after which nothing has changed.
    public func reload(token: String?) throws(AdminError) { try prepareReload(token: token)() }

    /// Checks a token and the files of TLS. The returned closure applies them.
    package func prepareReload(token: String?) throws(AdminError) -> () -> Void {
        let access = try access(token: token)
        let tls = try makeTLS()
        return { [self] in
            guard case .running(let running) = phase.withLock({ $0 }) else { return }
            running.driver.access.withLock { $0 = access }
            running.driver.tls.withLock { $0 = tls }
        }
    }

    private var exposedAddress: SocketAddress? { configuration.addresses.first { !$0.ip.isLoopback } }

    private func access(token: String?) throws(AdminError) -> AdminAccess {
        if let token, !AdminAccess.isValid(token) { throw .invalidToken }
        if let exposed = exposedAddress, token == nil, configuration.tls?.clientCertificates ?? .ignored == .ignored {
            throw .credentialsRequired(exposed)
        }
        return AdminAccess(token: token, requiresCredential: exposedAddress != nil)
    }

    private func makeTLS() throws(AdminError) -> TLSServer? {
        guard let options = configuration.tls else {
            if let exposed = exposedAddress { throw .plaintextNotAllowed(exposed) }
            return nil
        }
        do throws(TLSError) {
            return try TLSServer(options, applicationProtocol: "http/1.1") { _ in }
        } catch {
            throw .invalidTLS(error)
        }
    }

    private func listen() throws(AdminError) -> Running {
        guard !configuration.addresses.isEmpty else { throw .noAddresses }
        guard configuration.cardRooms.count <= Self.maxCardRoomCount else { throw .tooManyCardRooms }
        let tls = try makeTLS()
        let access = try access(token: configuration.token)
        var options = TCPListener.Options()
        options.acceptsBothFamilies = !configuration.addresses.contains { $0.ip == .anyV4 }
        var sockets: [TCPListener.Socket] = []
        for address in configuration.addresses {
            do throws(TransportError) {
                if let inherited = configuration.sockets.first(where: { $0.localAddress == address }) {
                    sockets.append(inherited)
                } else {
                    sockets.append(try TCPListener.Socket(listeningOn: address, options: options))
                }
            } catch {
                throw .cannotListen(address, error)
            }
        }
        // A loop runs until its shutdown, so its start is the last step that can fail.
        let loops: EventLoopGroup
        do throws(TransportError) {
            loops = try EventLoopGroup(count: 1, name: "martlet-admin", spinLimit: .zero)
        } catch {
            throw .cannotListen(configuration.addresses[0], error)
        }
        let driver = AdminDriver(
            RelaySource(relay), alerts, access, tls, cardsOf: configuration.cardRooms, on: loops.loops[0])
        let listeners = sockets.map { socket in
            socket.accept(on: driver.loop, options: options) { driver.accept($0) }
        }
        driver.loop.execute { driver.start() }
        return Running(loops: loops, driver: driver, listeners: listeners)
    }
}

/// An error that prevents the start of an ``AdminServer``.
public enum AdminError: Error, Equatable, Sendable {
    /// The port was started or shut down before.
    case alreadyStarted
    /// There is no address to listen on.
    case noAddresses
    /// There are more rooms with cards than ``AdminServer/maxCardRoomCount``.
    case tooManyCardRooms
    /// Without TLS the port listens on loopback addresses only.
    case plaintextNotAllowed(SocketAddress)
    /// On an address that is not a loopback address, the port requires a token or client certificates.
    case credentialsRequired(SocketAddress)
    /// The token has fewer than 16 or more than 512 characters, or one that is a space or not printable ASCII.
    case invalidToken
    /// The certificate or another file of TLS is not valid.
    case invalidTLS(TLSError)
    /// The port cannot listen on the address.
    case cannotListen(SocketAddress, TransportError)
}

extension AdminError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .alreadyStarted: "the port was started or shut down before"
        case .noAddresses: "the port has no address to listen on"
        case .tooManyCardRooms: "the port shows the cards of at most \(AdminServer.maxCardRoomCount) rooms"
        case .plaintextNotAllowed(let address): "without TLS the port does not listen on \(address)"
        case .credentialsRequired(let address):
            "the port does not listen on \(address) without a token or client certificates"
        case .invalidToken: "a token has 16 to 512 printable ASCII characters and no space"
        case .invalidTLS(let error): "\(error)"
        case .cannotListen(let address, let error): "cannot listen on \(address): \(error)"
        }
    }
}
