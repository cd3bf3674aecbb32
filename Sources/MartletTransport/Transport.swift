package import MartletWire

/// A bidirectional stream of bytes: a TCP connection, or a protocol on top of one.
///
/// All calls happen on the transport's loop. The transport pulls bytes: after `setNeedsWrite()` it calls the handler to
/// fill a buffer at the end of the turn, and again whenever the stream takes more. A handler can therefore send urgent
/// bytes first.
package protocol Transport: AnyObject, Sendable {
    var loop: EventLoop { get }
    var remoteAddress: SocketAddress? { get }
    var localAddress: SocketAddress? { get }

    /// Bytes that the handler has provided and the layer below has not taken, at most one buffer.
    var unsentByteCount: Int { get }

    /// Whether sent bytes were lost and wait for retransmission by the layer below; false if this is unknown.
    var isStalled: Bool { get }

    /// The encryption of the stream; nil for a stream in the clear, and before the handshake is complete.
    var security: TransportSecurity? { get }

    /// The application protocol of the encryption (RFC 7301), empty without one; nil when `security` is nil.
    var applicationProtocol: String? { get }

    /// Returns keying material of the encryption for a label (RFC 5705, RFC 8446 §7.5), for channel bindings; nil when
    /// `security` is nil, or with TLS 1.2 without the extended master secret (RFC 7627).
    func exportSecret(label: String, byteCount: Int) -> [UInt8]?

    /// Sets the handler, once. `transportDidConnect` follows at the end of the turn, and reading begins after it.
    func start(_ handler: any TransportHandler)

    /// Replaces the handler of a started transport, which receives no further calls.
    func replaceHandler(_ handler: any TransportHandler)

    /// Requests a call of the handler's `fill` at the end of this turn.
    func setNeedsWrite()

    /// Calls the handler's `fill` before this method returns, and sends the bytes. If the stream takes no bytes now,
    /// the call follows when it does. Must not be called from `fill`.
    func flush()

    /// Stops receiving until `resumeReading()`, so that flow control stops the peer. Both methods are idempotent. While
    /// reading is paused, the end of the stream is not detected. A reset may be detected, and then discards unread
    /// bytes.
    func pauseReading()
    func resumeReading()

    /// Closes the stream.
    ///
    /// With `afterFlush` the handler is called until it has no more bytes, all bytes are sent, and then the end of the
    /// stream. Bytes received meanwhile are discarded until the peer's end of stream or `TCPOptions.closeTimeout`, so
    /// that the peer can read the last bytes. Without `afterFlush`, unsent bytes are discarded.
    func close(afterFlush: Bool)

    /// Closes the stream after a flush, as `close(afterFlush:)` does, with this duration in place of `closeTimeout`,
    /// for a peer that is to receive many bytes.
    func close(within duration: Duration)

    /// Closes the stream with a reset. The buffers of the transport and of the kernel are freed.
    func abort()

    /// Moves the stream and its unsent bytes to another loop. Returns a transport there that is not started, or nil if
    /// the stream is closing or cannot move. The handler of this transport receives no further calls.
    func move(to loop: EventLoop) -> (any Transport)?
}

extension Transport {
    /// Calls `setNeedsWrite()`.
    package func flush() {
        setNeedsWrite()
    }

    /// Calls `close(afterFlush: true)`.
    package func close(within duration: Duration) {
        close(afterFlush: true)
    }

    /// Returns nil.
    package func move(to loop: EventLoop) -> (any Transport)? { nil }

    /// Returns nil.
    package var security: TransportSecurity? { nil }

    /// Returns nil.
    package var applicationProtocol: String? { nil }

    /// Returns nil.
    package func exportSecret(label: String, byteCount: Int) -> [UInt8]? { nil }
}

/// The encryption of a stream.
package struct TransportSecurity: Sendable, Hashable {
    /// The application protocol of all connections with TLS (RFC 7301).
    package static let martletProtocol = "martlet/1"
    /// The application protocol of a WebSocket with TLS (C-118).
    package static let webProtocol = "http/1.1"

    /// The version of the protocol, such as "TLSv1.3".
    package var version: String
    /// Whether the handshake resumed an earlier session.
    package var isResumed: Bool
    /// The cipher suite, such as "TLS_AES_256_GCM_SHA384".
    package var cipher: String
    /// The application protocol (RFC 7301), such as "martlet/1".
    package var applicationProtocol: String
    /// The verified certificate of the peer; nil without one.
    package var peerCertificate: PeerCertificate?

    package init(
        version: String, isResumed: Bool, cipher: String, applicationProtocol: String,
        peerCertificate: PeerCertificate?
    ) {
        self.version = version
        self.isResumed = isResumed
        self.cipher = cipher
        self.applicationProtocol = applicationProtocol
        self.peerCertificate = peerCertificate
    }
}

/// The user of a transport. All methods are called on the transport's loop. A call of the
/// transport does not call the handler before it returns, except `flush()`. The transport retains the handler until
/// `didClose`.
package protocol TransportHandler: AnyObject {
    func transportDidConnect(_ transport: any Transport)

    /// Receives `bytes`, which are valid during this call only.
    func transport(_ transport: any Transport, didReceive bytes: RawSpan)

    /// Appends the next bytes to send. Returns whether there may be more; the transport then calls again at once. The
    /// buffer has room for at least 19 KiB, more than an indivisible piece has. A call that appends nothing ends the
    /// calls until `setNeedsWrite()`.
    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool

    /// The peer has ended its direction of the stream; the other remains open. The default implementation closes after
    /// flushing.
    func transportDidReceiveEndOfStream(_ transport: any Transport)

    /// The last call, exactly once for every started transport.
    func transport(_ transport: any Transport, didClose reason: CloseReason)
}

extension TransportHandler {
    /// Closes after flushing.
    package func transportDidReceiveEndOfStream(_ transport: any Transport) {
        transport.close(afterFlush: true)
    }
}

/// The reason why a transport is closed.
package enum CloseReason: Sendable, Equatable {
    /// The peer ended the stream.
    case endOfStream
    /// This side closed or aborted the stream, or its loop was shut down.
    case local
    /// The peer reset the connection, or closed it while bytes were sent. The last bytes may not have arrived.
    case reset
    case error(TransportError)

    init(_ error: TransportError) {
        self = error == .reset ? .reset : .error(error)
    }
}
