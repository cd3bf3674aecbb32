/// A stream whose first bytes are the header of a proxy, which states the address of the peer (C-114).
///
/// | phase | meaning | left by |
/// |---|---|---|
/// | reading | the header is received | its last byte, an invalid byte, the timeout, the end of the stream |
/// | open | everything passes through | the transport below |
final class ProxiedTransport: Transport, @unchecked Sendable {  // All state is accessed on its loop only.
    /// The state of phase reading.
    private struct Reading {
        var header = ProxyHeader()
        let timer: LoopTimer
        let onEnd: (Bool) -> Void
    }

    private let lower: any Transport
    /// The address that the proxy states; that of the proxy before, and if it states none.
    private(set) var remoteAddress: SocketAddress?
    private var handler: (any TransportHandler)?
    /// Nil in phase open.
    private var reading: Reading?
    /// Whether the transport below is started.
    private var isStarted = false

    /// A stream without a header, or after it.
    private init(_ lower: any Transport, remote: SocketAddress?) {
        (self.lower, remoteAddress) = (lower, remote)
    }

    /// Reads the header from a transport that is not started.
    ///
    /// - Parameter onEnd: Receives the stream after a valid header, and nil after an invalid one, once. It starts the
    ///   stream, which is closed otherwise.
    static func read(_ lower: any Transport, within timeout: Duration, onEnd: @escaping (ProxiedTransport?) -> Void) {
        let transport = ProxiedTransport(lower, remote: lower.remoteAddress)
        let timer = LoopTimer(on: lower.loop) { [weak transport] in transport?.endReading(isValid: false) }
        timer.set(deadline: lower.loop.deadline(after: timeout))
        transport.reading = Reading(timer: timer) { [weak transport] isValid in onEnd(isValid ? transport : nil) }
        transport.isStarted = true
        lower.start(transport)
    }

    private func endReading(isValid: Bool) {
        guard let reading = reading.take() else { return }
        reading.timer.set(deadline: nil)
        reading.onEnd(isValid)
        if handler == nil { lower.close(afterFlush: false) }
    }

    var loop: EventLoop { lower.loop }
    var localAddress: SocketAddress? { lower.localAddress }
    var unsentByteCount: Int { lower.unsentByteCount }
    var isStalled: Bool { lower.isStalled }

    func start(_ handler: any TransportHandler) {
        precondition(self.handler == nil, "a transport is started once")
        self.handler = handler
        guard !isStarted else { return }
        isStarted = true
        lower.start(self)
    }

    func replaceHandler(_ handler: any TransportHandler) { self.handler = handler }
    func setNeedsWrite() { lower.setNeedsWrite() }
    func flush() { lower.flush() }
    func pauseReading() { lower.pauseReading() }
    func resumeReading() { lower.resumeReading() }
    func close(afterFlush: Bool) { lower.close(afterFlush: afterFlush) }
    func close(within duration: Duration) { lower.close(within: duration) }
    func abort() { lower.abort() }

    func move(to loop: EventLoop) -> (any Transport)? {
        guard let moved = lower.move(to: loop) else { return nil }
        handler = nil
        return ProxiedTransport(moved, remote: remoteAddress)
    }
}

extension ProxiedTransport: TransportHandler {
    func transportDidConnect(_ transport: any Transport) {
        handler?.transportDidConnect(self)
    }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        guard let step = reading?.header.receive(bytes) else {
            handler?.transport(self, didReceive: bytes)
            return
        }
        switch step {
        case .incomplete: break
        case .invalid: endReading(isValid: false)
        case .complete(let address, let byteCount):
            remoteAddress = address ?? remoteAddress
            endReading(isValid: true)
            handler?.transportDidConnect(self)
            if byteCount < bytes.byteCount { handler?.transport(self, didReceive: bytes.extracting(byteCount...)) }
        }
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        handler?.transport(self, fill: &buffer) ?? false
    }

    func transportDidReceiveEndOfStream(_ transport: any Transport) {
        if reading != nil { return endReading(isValid: false) }
        handler?.transportDidReceiveEndOfStream(self)
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        endReading(isValid: false)
        let handler = handler
        self.handler = nil
        handler?.transport(self, didClose: reason)
    }
}

/// Accepts connections of which some come through proxies that state the addresses of their clients (C-114).
package final class ProxyAcceptor: @unchecked Sendable {  // All state is accessed on the accepting loop only.
    /// The maximum number of connections whose header is not complete. Further ones are closed.
    static let maxReadingCount = 1_024

    private let proxies: [IPNetwork]
    private let timeout: Duration
    private let onInvalid: @Sendable (SocketAddress?) -> Void
    private var readingCount = 0

    /// - Parameters:
    ///   - proxies: The peers whose connections begin with a header.
    ///   - timeout: The duration until a whole header.
    ///   - onInvalid: Receives the address of a proxy whose header is invalid or late, or one of too many.
    package init(
        proxies: [IPNetwork], timeout: Duration, onInvalid: @escaping @Sendable (SocketAddress?) -> Void
    ) {
        (self.proxies, self.timeout, self.onInvalid) = (proxies, timeout, onInvalid)
    }

    /// Reads the header of a connection from a proxy, then calls `onAccept` with a transport that has the address of
    /// the client. It is called at once for other peers.
    package func accept(_ transport: any Transport, _ onAccept: @escaping (any Transport) -> Void) {
        guard let ip = transport.remoteAddress?.ip, proxies.contains(where: { $0.contains(ip) }) else {
            return onAccept(transport)
        }
        guard readingCount < Self.maxReadingCount else { return onInvalid(transport.remoteAddress) }
        readingCount += 1
        ProxiedTransport.read(transport, within: timeout) { [self, proxy = transport.remoteAddress] result in
            readingCount -= 1
            if let result { onAccept(result) } else { onInvalid(proxy) }
        }
    }
}
