package import MartletTransport
import MartletWire

/// A stream to a server through a proxy, over another transport to the proxy.
///
/// `transportDidConnect` follows the answer of the proxy.
///
/// | phase | meaning | left by |
/// |---|---|---|
/// | handshaking | not started, or the answer of the proxy is due; the handler's bytes wait | the answer, a failure, close |
/// | open | bytes pass unchanged | the transport below |
package final class ProxyTransport: Transport, @unchecked Sendable {  // All state is accessed on its loop only.
    private let lower: any Transport
    /// The exchange with the proxy; nil in phase open.
    private var handshake: ProxyHandshake?
    /// The unsent bytes of the handshake.
    private var output: [UInt8] = []
    private var handler: (any TransportHandler)?
    private var closeReason: CloseReason?
    /// The exchange that continues on a further connection to the proxy, after the end of this one; nil otherwise.
    package private(set) var continuation: ProxyHandshake?

    /// - Parameter lower: A transport to the proxy that is not started.
    package init(_ handshake: ProxyHandshake, over lower: any Transport) {
        (self.handshake, self.lower) = (handshake, lower)
    }

    package var loop: EventLoop { lower.loop }
    package var remoteAddress: SocketAddress? { lower.remoteAddress }
    package var localAddress: SocketAddress? { lower.localAddress }
    package var unsentByteCount: Int { lower.unsentByteCount }
    package var isStalled: Bool { lower.isStalled }

    /// Starts the transport below, and the handshake when it is connected; see `Transport`.
    package func start(_ handler: any TransportHandler) {
        precondition(self.handler == nil, "a transport is started once")
        self.handler = handler
        lower.start(self)
    }

    package func replaceHandler(_ handler: any TransportHandler) { self.handler = handler }
    package func setNeedsWrite() { lower.setNeedsWrite() }
    package func flush() { lower.flush() }
    package func pauseReading() { lower.pauseReading() }
    package func resumeReading() { lower.resumeReading() }
    package func close(afterFlush: Bool) { lower.close(afterFlush: afterFlush && handshake == nil) }
    package func abort() { lower.abort() }

    private func perform(_ step: ProxyHandshake.Step, _ bytes: RawSpan = RawSpan()) {
        switch step {
        case .incomplete: break
        case .send(let bytes):
            output += bytes
            lower.setNeedsWrite()
        case .reconnect:
            continuation = handshake
            end(.closed)
        case .failed(let error): end(error)
        case .connected(let byteCount):
            handshake = nil
            handler?.transportDidConnect(self)
            lower.setNeedsWrite()
            if byteCount < bytes.byteCount { handler?.transport(self, didReceive: bytes.extracting(byteCount...)) }
        }
    }

    private func end(_ error: ProxyError) {
        closeReason = closeReason ?? .error(.proxy(error))
        lower.close(afterFlush: false)
    }
}

extension ProxyTransport: TransportHandler {
    /// Sends the first bytes to the proxy.
    package func transportDidConnect(_ transport: any Transport) {
        guard var handshake else { return }
        output = handshake.start()
        self.handshake = handshake
        lower.setNeedsWrite()
    }

    package func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        guard closeReason == nil else { return }
        guard var handshake else {
            handler?.transport(self, didReceive: bytes)
            return
        }
        let step = handshake.receive(bytes)
        self.handshake = handshake
        perform(step, bytes)
    }

    /// Writes the bytes of the handshake, which fit into a buffer, or those of the handler.
    package func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        if !output.isEmpty {
            let count = min(output.count, buffer.freeCapacity)
            buffer.append(bytes: output.rawBytes.extracting(0..<count))
            output.removeFirst(count)
            return true
        }
        guard handshake == nil else { return false }
        return handler?.transport(self, fill: &buffer) ?? false
    }

    package func transportDidReceiveEndOfStream(_ transport: any Transport) {
        if let handshake { return perform(handshake.ended()) }
        handler?.transportDidReceiveEndOfStream(self)
    }

    package func transport(_ transport: any Transport, didClose reason: CloseReason) {
        let handler = handler
        self.handler = nil
        // A proxy may reset the connection in place of an answer.
        if closeReason == nil, let handshake, reason == .reset { perform(handshake.ended()) }
        handler?.transport(self, didClose: closeReason ?? reason)
    }
}
