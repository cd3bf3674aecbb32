import CMartletSystem

/// Accepts TCP connections on a loop, and hands them to it or, in turn, to other loops.
///
/// Out of descriptors or memory it pauses and tries again every `retryInterval`: who waits in the backlog waits a
/// little longer, nobody else notices, and the processor is not kept busy (Specs/hostile.md row 28). The same goes for
/// who comes faster than `Options.maxAcceptsPerSecond`.
public final class TCPListener: @unchecked Sendable {  // all state is touched on its loop only
    /// What can be set on a listener.
    public struct Options: Sendable {
        /// How many connections may wait to be accepted; the system has a limit of its own.
        public var backlog: Int32 = 1024
        /// SO_REUSEPORT: several listeners on one port, among which the system spreads connections.
        public var reusePort = false
        /// Whether the unspecified IPv6 address, `::`, takes IPv4 peers too; their addresses are IPv4 ones then.
        public var acceptsBothFamilies = true
        /// How many connections are accepted in any second at the most, 2 or more; the others wait in the backlog.
        /// nil accepts as fast as they come.
        public var maxAcceptsPerSecond: Int?
        /// What accepted connections get.
        public var connection = TCPOptions()
        /// Told on the loop when accepting has to pause, once until it works again.
        public var onAcceptTrouble: (@Sendable (TransportError) -> Void)?

        /// The defaults.
        public init() {}
    }

    /// Then the turn's other business goes on.
    static let maxAcceptsPerTurn = 64
    /// How long accepting pauses when the system has nothing left to accept with.
    public static let retryInterval = Duration.milliseconds(100)

    /// The loop that accepts.
    public let loop: EventLoop
    /// With the port that the system chose when 0 was asked for.
    public let localAddress: SocketAddress
    /// The port listened on.
    public var port: UInt16 { localAddress.port }

    private let targets: [EventLoop]
    private let options: Options
    private let connectionOptions: SharedTCPOptions
    private let onAccept: @Sendable (TCPConnection) -> Void

    // All below belongs to the loop.
    private var descriptor: SharedDescriptor?
    private var key: PollKey?
    private var nextTarget = 0
    private var isPausedByOwner = false
    private var pace: AcceptPace?
    /// Starved, or ahead of its pace.
    private var isResting = false
    private var hasReportedTrouble = false
    private var retryTimer: LoopTimer?

    /// A socket that listens and has no loop yet: who comes waits in its backlog. One that is dropped closes.
    package struct Socket: Sendable {
        let descriptor: SharedDescriptor
        /// With the port that the system chose when 0 was asked for.
        package let localAddress: SocketAddress

        /// Listens on `address` from now on; throws as `bind` does.
        package init(listeningOn address: SocketAddress, options: Options = Options()) throws(TransportError) {
            let number = try FileDescriptor(
                martlet_socket(address.ip.isIPv6 ? 6 : 4, options.connection.usesMultipath ? 1 : 0), from: "socket")
            var system = address.system
            let result = unsafe martlet_socket_listen(
                number.number, &system, options.backlog, options.reusePort ? 1 : 0,
                options.acceptsBothFamilies && address.ip.isUnspecified ? 1 : 0)
            guard result == 0 else { throw TransportError(errno: -result, call: "listen") }
            _ = unsafe martlet_socket_local_address(number.number, &system)
            descriptor = SharedDescriptor(number)
            localAddress = SocketAddress(system) ?? address
        }
    }

    /// Listens on `address` from now on; accepting begins with the loop's next turn. From any thread.
    ///
    /// `onAccept` is called on the connection's loop, which is `loop` or, when there are some, one of `loops` in turn.
    /// It starts the connection, or drops it and so closes it.
    /// Throws `.addressInUse`, `.addressNotAvailable`, `.permissionDenied`, `.tooManyDescriptors` and the like.
    public static func bind(
        to address: SocketAddress, on loop: EventLoop, spreadingOver loops: [EventLoop] = [],
        options: Options = Options(), onAccept: @escaping @Sendable (TCPConnection) -> Void
    ) throws(TransportError) -> TCPListener {
        let socket = try Socket(listeningOn: address, options: options)
        return TCPListener(socket, on: loop, spreadingOver: loops, options: options, onAccept: onAccept)
    }

    /// Accepts from a socket that listens already; otherwise as `bind`.
    package init(
        _ socket: Socket, on loop: EventLoop, spreadingOver loops: [EventLoop] = [], options: Options = Options(),
        onAccept: @escaping @Sendable (TCPConnection) -> Void
    ) {
        descriptor = socket.descriptor
        localAddress = socket.localAddress
        self.loop = loop
        targets = loops.isEmpty ? [loop] : loops
        self.options = options
        connectionOptions = SharedTCPOptions(options.connection)
        pace = options.maxAcceptsPerSecond.map { AcceptPace(maxPerSecond: $0) }
        self.onAccept = onAccept
        loop.execute { self.register() }
    }

    /// Leaves new connections in the backlog until `resumeAccepting()`. Both from any thread.
    public func pauseAccepting() {
        onLoop {
            self.isPausedByOwner = true
            self.updateInterest()
        }
    }

    /// Accepts again, the backlog first. From any thread.
    public func resumeAccepting() {
        onLoop {
            self.isPausedByOwner = false
            self.updateInterest()
        }
    }

    /// Accepts nothing more; connections that were accepted live on. From any thread.
    public func close() {
        onLoop { self.closeNow() }
    }

    /// The same, returning when the port is free.
    public func closeAndWait() async {
        await withCheckedContinuation { continuation in
            onLoop {
                self.closeNow()
                continuation.resume()
            }
        }
    }

    // MARK: on the loop

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.isOnLoop { work() } else { loop.execute(work) }
    }

    private func register() {
        guard let descriptor else { return }
        do throws(TransportError) {
            key = try loop.add(self, descriptor, interest: isAccepting ? .readable : [])
        } catch {
            options.onAcceptTrouble?(error)
            closeNow()
        }
    }

    private var isAccepting: Bool { !isPausedByOwner && !isResting }

    private func updateInterest() {
        if let key { loop.setInterest(isAccepting ? .readable : [], of: key) }
    }

    private func closeNow() {
        if let descriptor { martlet_socket_stop_listening(descriptor.number) }
        if let key { loop.remove(key) }
        retryTimer?.set(deadline: nil)
        retryTimer = nil
        key = nil
        descriptor = nil
    }

    private func acceptAvailable() {
        for _ in 0..<Self.maxAcceptsPerTurn where isAccepting {
            guard let descriptor else { return }
            if pace?.take(at: EventLoop.clock) == false { return rest(until: pace?.readyAt ?? 0) }
            var peer = martlet_address()
            let result = unsafe martlet_socket_accept(descriptor.number, &peer)
            do throws(TransportError) {
                hand(over: try FileDescriptor(result, from: "accept"), from: SocketAddress(peer))
            } catch {
                guard shouldGoOn(after: -result, error) else { return }
            }
        }
    }

    private func hand(over accepted: consuming FileDescriptor, from peer: SocketAddress?) {
        hasReportedTrouble = false
        options.connection.apply(to: accepted)
        let target = targets[nextTarget]
        nextTarget = (nextTarget + 1) % targets.count
        let connection = TCPConnection(
            SharedDescriptor(accepted), remote: peer, on: target, options: connectionOptions)
        if target === loop { return onAccept(connection) }
        target.execute { [onAccept] in onAccept(connection) }
    }

    private func shouldGoOn(after number: Int32, _ error: TransportError) -> Bool {
        switch error {
        case .reset, .unreachable, .permissionDenied: return true  // Of a connection that died in the backlog.
        default: break
        }
        if isWouldBlock(number) { return false }
        rest(until: loop.deadline(after: Self.retryInterval))
        if !hasReportedTrouble {
            hasReportedTrouble = true
            options.onAcceptTrouble?(error)
        }
        return false
    }

    private func rest(until deadline: UInt64) {
        isResting = true
        updateInterest()
        let timer = retryTimer ?? LoopTimer(on: loop) { [weak self] in self?.retry() }
        retryTimer = timer
        timer.set(deadline: deadline)
    }

    private func retry() {
        isResting = false
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
