/// A stream of bytes between two peers: TCP, or something that runs on top of one and looks like it.
///
/// Everything happens on its loop. Sending is pulled: after `setNeedsWrite()` the handler is asked to fill a buffer at
/// the end of the turn, and again whenever the stream takes more, so bytes are made when they can leave and what is
/// urgent can still go first.
public protocol Transport: AnyObject, Sendable {
    var loop: EventLoop { get }
    var remoteAddress: SocketAddress? { get }
    var localAddress: SocketAddress? { get }

    /// Bytes that the handler has given and the layer below has not yet taken: never more than one buffer.
    var unsentByteCount: Int { get }

    /// Whether what was sent has been lost, perhaps more than once, and waits to be sent again by the layer below;
    /// false where nothing tells.
    var isStalled: Bool { get }

    /// Gives the transport its handler, once. `transportDidConnect` follows at the end of the turn; reading begins
    /// after it.
    func start(_ handler: any TransportHandler)

    /// There is something to send: ask the handler for it at the end of this turn.
    func setNeedsWrite()

    /// Asks the handler for bytes now, from inside this call, and sends what it gives; where the stream takes nothing
    /// now, the handler is asked when it does. Not while the handler is being asked.
    func flush()

    /// Nothing is received until `resumeReading()`, so that the peer has to wait, too. Idempotent, both.
    /// While it is paused the end of the stream is not noticed; a reset may be, and then drops what was not received.
    func pauseReading()
    func resumeReading()

    /// Ends the stream. With `afterFlush` the handler is still asked until it has no more, all of it is sent, then the
    /// end; what the peer sends meanwhile is discarded until its end comes or a bounded time is over (see
    /// `TCPOptions.closeTimeout`), so that last words reach the peer. Without, what is unsent is dropped.
    func close(afterFlush: Bool)

    /// Ends the stream with a reset, which frees all that is buffered here and in the kernel.
    func abort()

    /// The same stream on another loop, not started yet; nil when it is about to end, or cannot move. What the handler
    /// has given goes along. This transport is over then, and its handler hears no more of it.
    func move(to loop: EventLoop) -> (any Transport)?
}

extension Transport {
    /// At the end of this turn.
    public func flush() {
        setNeedsWrite()
    }

    /// Nil: it stays where it is.
    public func move(to loop: EventLoop) -> (any Transport)? { nil }
}

/// Who uses a transport. Every method is called on the transport's loop, none from inside a call of the transport by
/// the handler but `flush()`. The transport keeps the handler until `didClose`.
public protocol TransportHandler: AnyObject {
    func transportDidConnect(_ transport: any Transport)

    /// All of `bytes`, which are the loop's and are gone when this returns, must be dealt with.
    func transport(_ transport: any Transport, didReceive bytes: RawSpan)

    /// Appends what is to be sent next, and answers whether there may be more: then it is asked again at once.
    /// The buffer has room for 20 KiB at least, which every piece of a handler's has to fit into.
    /// Appending nothing says that there is no more, too, until `setNeedsWrite()`.
    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool

    /// The peer sends no more; sending to it is still possible. By default this closes after flushing.
    func transportDidReceiveEndOfStream(_ transport: any Transport)

    /// The last call, exactly once for every transport that was started.
    func transport(_ transport: any Transport, didClose reason: CloseReason)
}

extension TransportHandler {
    /// Closes after flushing.
    public func transportDidReceiveEndOfStream(_ transport: any Transport) {
        transport.close(afterFlush: true)
    }
}

/// Why a transport is closed.
public enum CloseReason: Sendable, Equatable {
    /// The peer ended the stream, in order.
    case endOfStream
    /// This side closed or aborted, or its loop was shut down.
    case local
    /// The peer reset the connection, or closed it while it was written to: nothing is known of bytes sent last.
    case reset
    case error(TransportError)

    init(_ error: TransportError) {
        self = error == .reset ? .reset : .error(error)
    }
}
