/// TLS over another transport (RFC 8446; version 1.2 is the minimum; C-65).
///
/// `transportDidConnect` follows the handshake. Records are written when the transport below requests bytes, so the
/// handler's bytes are encrypted as late as they are sent.
///
/// | phase | meaning | left by |
/// |---|---|---|
/// | idle | not started | start |
/// | handshaking | the handler is not connected; only handshake records are sent | completion, a failure, close |
/// | open | | close, a failure, the end of the stream below |
/// | finishing | the handler's last bytes are sent, then close_notify | the transport below |
/// | closing | nothing more is sent but pending records, such as an alert | the transport below |
package final class TLSTransport: Transport, @unchecked Sendable {  // All state is accessed on its loop only.
    private enum Phase {
        case idle
        case handshaking
        case open
        case finishing
        case closing
    }

    /// The bytes that encryption adds to one fill, with a margin: at most 22 for a record of 16 KiB.
    private static let overheadByteCount = 256
    /// The minimum room for the handler's bytes; see `TransportHandler.transport(_:fill:)`.
    private static let minFillByteCount = 20 << 10

    private let lower: any Transport
    private let connection: TLSConnection
    private let onSession: ((TLSSession) -> Void)?
    private var phase = Phase.idle
    private var handler: (any TransportHandler)?
    private var closeReason: CloseReason?
    /// Whether the handler requested a fill before the handshake was complete.
    private var needsWrite = false

    /// TLS over a transport that is not started.
    ///
    /// - Parameter onSession: Receives sessions for resumption, on the loop.
    init(_ connection: TLSConnection, over lower: any Transport, onSession: ((TLSSession) -> Void)? = nil) {
        self.connection = connection
        self.lower = lower
        self.onSession = onSession
    }

    /// The loop of the transport below.
    package var loop: EventLoop { lower.loop }
    /// The peer's address.
    package var remoteAddress: SocketAddress? { lower.remoteAddress }
    /// The local address.
    package var localAddress: SocketAddress? { lower.localAddress }
    /// The number of unsent bytes, encrypted.
    package var unsentByteCount: Int { lower.unsentByteCount + connection.pendingByteCount }
    /// Whether the transport below is stalled.
    package var isStalled: Bool { lower.isStalled }

    /// The version of TLS, the cipher suite and the peer's certificate, after the handshake.
    package var security: TransportSecurity? {
        guard connection.state == .open || connection.state == .peerClosed else { return nil }
        return TransportSecurity(
            version: connection.version, isResumed: connection.isResumed, cipher: connection.cipher,
            applicationProtocol: connection.applicationProtocol, peerCertificate: connection.peerCertificate)
    }

    /// The application protocol, after the handshake.
    package var applicationProtocol: String? {
        connection.state == .open || connection.state == .peerClosed ? connection.applicationProtocol : nil
    }

    /// Exports keying material; see `Transport`.
    package func exportSecret(label: String, byteCount: Int) -> [UInt8]? {
        connection.exportSecret(label: label, byteCount: byteCount)
    }

    /// Starts the transport below, and the handshake when it is connected; see `Transport`.
    package func start(_ handler: any TransportHandler) {
        precondition(phase == .idle && self.handler == nil, "a transport is started once")
        self.handler = handler
        phase = .handshaking
        lower.start(self)
    }

    /// Replaces the handler; see `Transport`.
    package func replaceHandler(_ handler: any TransportHandler) {
        self.handler = handler
    }

    /// Requests a fill; see `Transport`.
    package func setNeedsWrite() {
        if phase == .handshaking { needsWrite = true } else { lower.setNeedsWrite() }
    }

    /// Fills and sends at once; see `Transport`.
    package func flush() {
        if phase == .handshaking { needsWrite = true } else { lower.flush() }
    }

    /// Stops reading; see `Transport`.
    package func pauseReading() {
        lower.pauseReading()
    }

    /// Resumes reading; see `Transport`.
    package func resumeReading() {
        lower.resumeReading()
    }

    /// Closes the stream, with close_notify if it is flushed; see `Transport`.
    package func close(afterFlush: Bool) {
        if afterFlush { finish() } else { noteEnd() }
        lower.close(afterFlush: afterFlush)
    }

    /// Closes the stream after a flush, at most after the duration; see `Transport`.
    package func close(within duration: Duration) {
        finish()
        lower.close(within: duration)
    }

    private func noteEnd() {
        if connection.state == .peerClosed { closeReason = closeReason ?? .endOfStream }
    }

    private func finish() {
        noteEnd()
        switch phase {
        case .open: phase = .finishing
        case .idle, .handshaking: phase = .closing
        case .finishing, .closing: break
        }
    }

    /// Resets the connection; see `Transport`.
    package func abort() {
        lower.abort()
    }

    /// Moves the connection to another loop after the handshake; see `Transport`.
    package func move(to loop: EventLoop) -> (any Transport)? {
        guard phase == .open, let moved = lower.move(to: loop) else { return nil }
        handler = nil
        return TLSTransport(connection, over: moved, onSession: onSession)
    }

    // MARK: - Handshake

    private func handshakeCompleted() {
        phase = .open
        handler?.transportDidConnect(self)
        if needsWrite { lower.setNeedsWrite() }
    }

    /// Ends the connection after a failure. The alert, if any, is sent.
    private func fail(_ error: TLSError) {
        guard closeReason == nil else { return }
        closeReason = .error(.tls(error))
        phase = .closing
        lower.close(afterFlush: true)
    }
}

extension TLSTransport: TransportHandler {
    /// Starts the handshake.
    package func transportDidConnect(_ transport: any Transport) {
        // A moved connection has completed its handshake.
        if connection.state == .open { return handshakeCompleted() }
        connection.start(using: loop.plainReadBuffer)
        if connection.pendingByteCount > 0 { lower.setNeedsWrite() }
    }

    /// Decrypts received bytes.
    package func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        guard phase == .handshaking || phase == .open else { return }
        connection.receive(bytes, into: loop.plainReadBuffer) { plain in
            if phase == .handshaking { handshakeCompleted() }
            handler?.transport(self, didReceive: plain)
        }
        if phase == .handshaking, connection.state == .open { handshakeCompleted() }
        if let session = connection.takeSession() { onSession?(session) }
        if connection.pendingByteCount > 0 { lower.setNeedsWrite() }
        switch connection.state {
        case .handshaking, .open: break
        case .peerClosed: if phase == .open { handler?.transportDidReceiveEndOfStream(self) }
        case .failed: fail(connection.error)
        }
    }

    /// Encrypts the handler's bytes.
    package func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        connection.takePending(into: &buffer)
        guard connection.pendingByteCount == 0 else { return true }
        guard phase == .open || phase == .finishing else { return false }
        needsWrite = false
        let room = max(buffer.freeCapacity - Self.overheadByteCount, Self.minFillByteCount)
        let plain = loop.plainWriteBuffer
        let (count, mayHaveMore) = plain.fill(min(room, plain.byteCount)) {
            handler?.transport(self, fill: &$0) ?? false
        }
        guard connection.send(count, of: plain, into: &buffer) else {
            fail(connection.error)
            return false
        }
        if count == 0, phase == .finishing {
            phase = .closing
            connection.close()
            connection.takePending(into: &buffer)
        }
        return mayHaveMore || connection.pendingByteCount > 0 || phase == .finishing
    }

    /// The end of the stream without close_notify is a truncation, which the peer did not intend.
    package func transportDidReceiveEndOfStream(_ transport: any Transport) {
        switch connection.state {
        case .handshaking: fail(.truncatedHandshake)
        case .open:
            closeReason = closeReason ?? .reset
            lower.close(afterFlush: false)
        case .peerClosed, .failed: break
        }
    }

    /// Reports the failure of TLS, or the reason of the transport below.
    package func transport(_ transport: any Transport, didClose reason: CloseReason) {
        phase = .closing
        let handler = handler
        self.handler = nil
        handler?.transport(self, didClose: closeReason ?? reason)
    }
}
