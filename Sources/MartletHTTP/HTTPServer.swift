package import MartletTransport
package import MartletWire

/// The answer of an application to a request.
package enum HTTPAnswer: Sendable {
    /// A response with its whole content.
    case response(HTTPResponse)
    /// A response whose content the application sends later by the stream, which it receives on the loop.
    case stream(HTTPResponse, opened: @Sendable (HTTPStream) -> Void)
}

/// The content of a response that has no end yet. It is used on the loop of the server.
package final class HTTPStream: @unchecked Sendable {  // used on its loop
    fileprivate weak var peer: HTTPPeer?
    /// Called once on the loop, when the connection has ended.
    package var onEnd: (() -> Void)?

    fileprivate init(_ peer: HTTPPeer) { self.peer = peer }

    /// Appends bytes. A peer that does not read them loses the connection.
    package func send(_ bytes: [UInt8]) { peer?.send(bytes) }

    /// Ends the content and the connection.
    package func end() { peer?.endStream() }
}

/// A server of HTTP/1.1 for machines and browsers of administrators, on a loop.
///
/// Connections beyond `maxConnectionCount` are closed at once. The handler is called for one request of a connection at
/// a time.
package final class HTTPServer: @unchecked Sendable {  // used on its loop
    /// The maximum number of connections.
    package static let maxConnectionCount = 256
    /// Answers a request, with the verified certificate of the client; nil without one.
    package typealias Handler = @Sendable (HTTPRequest, PeerCertificate?) async -> HTTPAnswer

    package let loop: EventLoop
    private let handler: Handler
    private var peers: [ObjectIdentifier: HTTPPeer] = [:]
    private var isClosing = false

    /// A server without connections.
    package init(on loop: EventLoop, handler: @escaping Handler) {
        self.loop = loop
        self.handler = handler
    }

    /// Starts a connection. The transport is one of the loop.
    package func accept(_ transport: any Transport) {
        loop.preconditionOnLoop()
        guard !isClosing, peers.count < Self.maxConnectionCount else { return transport.abort() }
        let peer = HTTPPeer(transport, of: self)
        peers[ObjectIdentifier(peer)] = peer
        peer.start()
    }

    /// Closes all connections without their unsent bytes, and refuses further ones.
    package func closeAll() {
        loop.preconditionOnLoop()
        isClosing = true
        for peer in peers.values { peer.transport.close(afterFlush: false) }
    }

    fileprivate func ended(_ peer: HTTPPeer) { peers[ObjectIdentifier(peer)] = nil }

    fileprivate func answer(_ request: HTTPRequest, for peer: HTTPPeer) {
        let certificate = peer.transport.security?.peerCertificate
        peer.task = loop.startTask { [handler, loop] in
            let answer = await handler(request, certificate)
            loop.execute { peer.answer(answer) }
        }
    }
}

/// A connection of a server: performs what its `HTTPConnection` decides.
private final class HTTPPeer: TransportHandler, @unchecked Sendable {  // used on its loop
    let transport: any Transport
    /// The call of the handler in progress.
    var task: Task<Void, Never>?
    private let server: HTTPServer
    private var connection = HTTPConnection()
    private var stream: HTTPStream?
    private var isClosed = false
    /// The duration of the armed timer; nil if it is not armed.
    private var timeout: HTTPConnection.Timeout?
    private lazy var timer = LoopTimer(on: server.loop) { [weak self] in self?.timedOut() }

    init(_ transport: any Transport, of server: HTTPServer) {
        self.transport = transport
        self.server = server
    }

    /// Starts the transport. The first duration contains the handshake of TLS.
    func start() {
        transport.start(self)
        setTimer()
    }

    func transportDidConnect(_ transport: any Transport) { proceed() }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        connection.receive(bytes)
        proceed()
    }

    func transportDidReceiveEndOfStream(_ transport: any Transport) {
        connection.receiveEnd()
        proceed()
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let wasPaused = connection.isReadingPaused
        let hasMore = connection.transmit(into: &buffer)
        if wasPaused, !connection.isReadingPaused { server.loop.execute { [self] in proceed() } }
        setTimer()
        return hasMore
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        isClosed = true
        timer.set(deadline: nil)
        task?.cancel()
        server.ended(self)
        let onEnd = stream?.onEnd
        stream = nil
        onEnd?()
    }

    func answer(_ answer: HTTPAnswer) {
        task = nil
        // A stream of a closed connection would not end.
        guard !isClosed else { return }
        switch answer {
        case .response(let response): connection.respond(response)
        case .stream(let response, let opened):
            if connection.beginStream(response) {
                let stream = HTTPStream(self)
                self.stream = stream
                opened(stream)
            }
        }
        proceed()
    }

    func send(_ bytes: [UInt8]) {
        connection.send(bytes)
        proceed()
    }

    func endStream() {
        connection.endStream()
        proceed()
    }

    private func proceed() {
        guard !isClosed else { return }
        if let request = connection.nextRequest() { server.answer(request, for: self) }
        if connection.isReadingPaused { transport.pauseReading() } else { transport.resumeReading() }
        if connection.unsentByteCount > 0 { transport.setNeedsWrite() }
        if connection.isEnding { transport.close(afterFlush: true) }
        setTimer()
    }

    private func setTimer() {
        guard !isClosed, connection.timeout != timeout else { return }
        timeout = connection.timeout
        timer.set(deadline: timeout.map { server.loop.deadline(after: .seconds($0.seconds)) })
    }

    private func timedOut() {
        timeout = nil
        if connection.timedOut() { transport.abort() } else { proceed() }
    }
}
