import CMartletSystem

/// Accepts TCP connections on a loop.
///
/// Without free descriptors or memory the listener pauses for `retryInterval`; new connections wait in the backlog
/// (Specs/hostile.md row 28). A reserve of descriptors remains free for libraries (Specs/hostile.md row 99). The
/// listener also pauses when connections arrive faster than `Options.maxAcceptsPerSecond`.
package final class TCPListener: @unchecked Sendable {  // All state is accessed on its loop only.
    /// The options of a listener.
    package struct Options: Sendable {
        /// The maximum number of connections that wait for acceptance. The system has a limit of its own.
        package var backlog: Int32 = 1024
        /// Whether `::` accepts IPv4 peers too. Their addresses are then IPv4 addresses.
        package var acceptsBothFamilies = true
        /// The maximum number of accepts in any second, 2 or more; nil for no maximum. Other connections wait in the
        /// backlog.
        package var maxAcceptsPerSecond: Int?
        /// The options of accepted connections.
        package var connection = TCPOptions()
        /// Called on the loop when accepting pauses for lack of resources, once until an accept succeeds.
        package var onAcceptingPaused: (@Sendable (TransportError) -> Void)?

        /// Creates the default options.
        package init() {}
    }

    /// The maximum number of accepts in a turn.
    static let maxAcceptsPerTurn = 64
    /// The pause of accepting for lack of resources.
    package static let retryInterval = Duration.milliseconds(100)

    /// The loop that accepts.
    package let loop: EventLoop
    /// The address, with the port that the system chose for port 0.
    package let localAddress: SocketAddress
    /// The port of `localAddress`.
    package var port: UInt16 { localAddress.port }

    private let isInherited: Bool
    private let options: Options
    private let connectionOptions: SharedTCPOptions
    private let onAccept: @Sendable (TCPConnection) -> Void

    // The loop accesses all properties below.
    private var descriptor: SharedDescriptor?
    private var key: PollKey?
    private var pace: AcceptPace?
    /// Whether accepting pauses, for lack of resources or of tokens.
    private var isPaused = false
    private var hasReportedPause = false
    private var pauseTimer: LoopTimer?

    /// A listening socket without a loop. Connections wait in its backlog; its release closes it.
    package struct Socket: Sendable {
        let descriptor: SharedDescriptor
        /// The address, with the port that the system chose for port 0.
        package let localAddress: SocketAddress
        /// Whether other processes have the socket too. It then listens on after it is closed here.
        let isInherited: Bool

        /// Starts to listen on `address`. Throws the errors of `bind`.
        package init(listeningOn address: SocketAddress, options: Options = Options()) throws(TransportError) {
            let number = try FileDescriptor(
                martlet_socket(address.ip.isIPv6 ? 6 : 4, options.connection.usesMultipath ? 1 : 0), from: "socket")
            var system = address.system
            let result = unsafe martlet_socket_listen(
                number.number, &system, options.backlog,
                options.acceptsBothFamilies && address.ip.isUnspecified ? 1 : 0)
            guard result == 0 else { throw TransportError(errno: -result, call: "listen") }
            _ = unsafe martlet_socket_local_address(number.number, &system)
            descriptor = SharedDescriptor(number)
            localAddress = SocketAddress(system) ?? address
            isInherited = false
        }

        /// Takes a listening socket with which the process was started. Throws an error for any other descriptor.
        package init(inheriting number: Int32) throws(TransportError) {
            var system = martlet_address()
            let result = unsafe martlet_socket_inherit(number, &system)
            guard result == 0, let address = SocketAddress(system) else {
                throw TransportError(errno: -result, call: "inherit")
            }
            descriptor = SharedDescriptor(try FileDescriptor(number, from: "inherit"))
            localAddress = address
            isInherited = true
        }
    }

    /// Starts to listen on `address`. Accepting begins with the loop's next turn. May be called on any thread.
    ///
    /// `onAccept` is called on the loop. It starts the connection, or releases and thereby closes it.
    ///
    /// Throws `.addressInUse`, `.addressNotAvailable`, `.permissionDenied`, `.tooManyDescriptors` or another error.
    package static func bind(
        to address: SocketAddress, on loop: EventLoop, options: Options = Options(),
        onAccept: @escaping @Sendable (TCPConnection) -> Void
    ) throws(TransportError) -> TCPListener {
        let socket = try Socket(listeningOn: address, options: options)
        return TCPListener(socket, on: loop, options: options, onAccept: onAccept)
    }

    /// Accepts from a listening socket; otherwise as `bind`.
    package init(
        _ socket: Socket, on loop: EventLoop, options: Options = Options(),
        onAccept: @escaping @Sendable (TCPConnection) -> Void
    ) {
        descriptor = socket.descriptor
        isInherited = socket.isInherited
        localAddress = socket.localAddress
        self.loop = loop
        self.options = options
        connectionOptions = SharedTCPOptions(options.connection)
        pace = options.maxAcceptsPerSecond.map { AcceptPace(maxPerSecond: $0) }
        self.onAccept = onAccept
        loop.execute { self.register() }
    }

    /// Stops accepting; accepted connections remain open. May be called on any thread.
    package func close() {
        onLoop { self.closeNow() }
    }

    /// Closes the listener and returns when the port is free.
    package func closeAndWait() async {
        await withCheckedContinuation { continuation in
            onLoop {
                self.closeNow()
                continuation.resume()
            }
        }
    }

    // MARK: - On the loop

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.isOnLoop { work() } else { loop.execute(work) }
    }

    private func register() {
        guard let descriptor else { return }
        do throws(TransportError) {
            key = try loop.add(self, descriptor, interest: isPaused ? [] : .readable)
        } catch {
            options.onAcceptingPaused?(error)
            closeNow()
        }
    }

    private func updateInterest() {
        if let key { loop.setInterest(isPaused ? [] : .readable, of: key) }
    }

    private func closeNow() {
        if let descriptor, !isInherited { martlet_socket_stop_listening(descriptor.number) }
        if let key { loop.remove(key) }
        pauseTimer?.set(deadline: nil)
        pauseTimer = nil
        key = nil
        descriptor = nil
    }

    private func acceptAvailable() {
        for _ in 0..<Self.maxAcceptsPerTurn where !isPaused {
            guard let descriptor else { return }
            if pace?.take(at: EventLoop.clock) == false { return pause(until: pace?.readyAt ?? 0) }
            var peer = martlet_address()
            let result = unsafe martlet_socket_accept(descriptor.number, &peer)
            do throws(TransportError) {
                start(try FileDescriptor(result, from: "accept"), from: SocketAddress(peer))
            } catch {
                guard shouldContinue(after: -result, error) else { return }
            }
        }
    }

    private func start(_ accepted: consuming FileDescriptor, from peer: SocketAddress?) {
        hasReportedPause = false
        options.connection.apply(to: accepted)
        onAccept(TCPConnection(SharedDescriptor(accepted), remote: peer, on: loop, options: connectionOptions))
    }

    private func shouldContinue(after number: Int32, _ error: TransportError) -> Bool {
        switch error {
        case .reset, .unreachable, .permissionDenied: return true  // The connection ended in the backlog.
        default: break
        }
        if isWouldBlock(number) { return false }
        pause(until: loop.deadline(after: Self.retryInterval))
        if !hasReportedPause {
            hasReportedPause = true
            options.onAcceptingPaused?(error)
        }
        return false
    }

    private func pause(until deadline: UInt64) {
        isPaused = true
        updateInterest()
        let timer = pauseTimer ?? LoopTimer(on: loop) { [weak self] in self?.resume() }
        pauseTimer = timer
        timer.set(deadline: deadline)
    }

    private func resume() {
        isPaused = false
        updateInterest()
    }
}

extension TCPListener: PollSource {
    func pollReady(_ readiness: Readiness) {
        acceptAvailable()
    }

    func loopWillStop() {
        closeNow()
    }
}
