/// The provider of the clocks, the random numbers, the network and the executor of loops without a thread. A host runs
/// the turns of its loops with `EventLoop.runTurn()`.
///
/// A loop without a host has a thread, and uses the clocks, the random source and the network of the system.
package protocol LoopHost: AnyObject, Sendable {
    /// The monotonic clock in nanoseconds.
    var now: UInt64 { get }
    /// The wall clock in milliseconds since 1970.
    var wallClock: UInt64 { get }
    /// The time of `now` as an instant of the continuous clock.
    var instant: ContinuousClock.Instant { get }
    /// The executor of the tasks that the users of the loops start.
    var taskExecutor: any TaskExecutor { get }

    /// The next random number.
    func nextRandom() -> UInt64

    /// Runs a turn of the loop soon. It is called on any thread.
    func wake(_ loop: EventLoop)

    /// Connects to one of the endpoints, as `EventLoop.connect` does.
    func connect(
        to endpoints: [Endpoint], on loop: EventLoop, timeout: Duration, _ completion: @escaping ConnectCompletion
    ) -> any ConnectionAttempt

    /// Listens on an address. Port 0 lets the host choose.
    func listen(on address: SocketAddress) throws(TransportError) -> any ListeningSocket

    /// Reports the network path of the loop's machine, at first the current one.
    func watchPath(of loop: EventLoop, _ report: @escaping (PathSnapshot) -> Void) -> any PathSource
}

/// The result of an attempt to connect, on the loop.
package typealias ConnectCompletion = (Result<EstablishedConnection, TransportError>) -> Void

/// A connection that is not started, and the endpoint to which it leads; nil if it is unknown.
package struct EstablishedConnection {
    package let transport: any Transport
    package let endpoint: Endpoint?

    package init(_ transport: any Transport, to endpoint: Endpoint?) {
        self.transport = transport
        self.endpoint = endpoint
    }
}

/// An attempt to connect.
package protocol ConnectionAttempt: AnyObject {
    /// Cancels the attempt, on the loop. Its result is `.cancelled` unless there was one.
    func cancel()
}

/// A listening socket without a loop. Connections wait; its release closes it.
package protocol ListeningSocket: Sendable {
    /// The address, with the port that was chosen for port 0.
    var localAddress: SocketAddress { get }

    /// Accepts connections on a loop. The closure is called on the loop; it starts the connection, or releases and
    /// thereby closes it.
    func accept(
        on loop: EventLoop, options: TCPListener.Options, _ onAccept: @escaping @Sendable (any Transport) -> Void
    ) -> any TransportListener
}

/// A listener of transports.
package protocol TransportListener: Sendable {
    /// The address on which the listener accepts.
    var localAddress: SocketAddress { get }

    /// Stops accepting; accepted connections remain open. It is called on any thread.
    func close()

    /// Closes the listener and returns when the port is free.
    func closeAndWait() async
}

extension TCPConnector: ConnectionAttempt {}

extension TCPListener: TransportListener {}

extension TCPListener.Socket: ListeningSocket {
    package func accept(
        on loop: EventLoop, options: TCPListener.Options, _ onAccept: @escaping @Sendable (any Transport) -> Void
    ) -> any TransportListener {
        TCPListener(self, on: loop, options: options, onAccept: onAccept)
    }
}
