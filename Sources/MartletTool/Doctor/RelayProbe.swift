import MartletAuthentication
import MartletTransport
import MartletWire

/// One connection of `martlet doctor`: reports the answers of the relay, one at a time.
///
/// | state | ended by |
/// |---|---|
/// | idle | `open` |
/// | open: answers are queued or awaited | the end of the transport, `leave`, `abort` |
/// | closed: the last answer is repeated | |
final class RelayProbe: TransportHandler, @unchecked Sendable {  // The loop accesses all state.
    /// An event that answers a question.
    enum Answer: Sendable {
        case open(TransportSecurity?)
        /// A message of the authentication exchange.
        case challenge(Credential)
        case welcome(Welcome)
        case pong(UInt64)
        case response(Response)
        case failed(DoctorFailure)
    }

    /// An answer, and the time since the question.
    struct Reply: Sendable {
        var answer: Answer
        var duration: Duration
    }

    /// The maximum number of queued answers. Beyond it the connection is aborted.
    private static let maxQueuedCount = 64

    private let transport: any Transport
    private let loop: EventLoop
    private var framer = Framer(maxBodyByteCount: Limits.maxHandshakeBodyByteCount)
    private var outgoing: [UInt8] = []
    private var isStarted = false
    private var hasWelcome = false
    private var queued: [(answer: Answer, time: UInt64)] = []
    private var askedAt: UInt64 = 0
    private var waiter: CheckedContinuation<Reply, Never>?
    private var timer: LoopTimer?

    /// Creates a probe for a transport that is not started.
    init(_ transport: any Transport) {
        self.transport = transport
        loop = transport.loop
    }

    /// Creates a probe for a transport that is connected, as its handler, on the loop.
    convenience init(started transport: any Transport) {
        self.init(transport)
        isStarted = true
        transport.replaceHandler(self)
        queue(.open(transport.security))
    }

    /// Opens the connection, including TLS.
    func open(within timeout: Duration) async -> Reply {
        await ask(timeout) { [self] in if !isStarted { transport.start(self) } }
    }

    /// Returns the channel binding of the connection (C-70): none without TLS, nil with a TLS that has none.
    func channelBinding() async -> ChannelBinding? {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in
                let exporter = transport.exportSecret(
                    label: ChannelBinding.exporterLabel, byteCount: ChannelBinding.exporterByteCount)
                let unbound: ChannelBinding? = transport.security == nil ? ChannelBinding.none : nil
                continuation.resume(returning: exporter.map { .tlsExporter($0) } ?? unbound)
            }
        }
    }

    /// Sends a frame, and awaits the answer.
    func send(_ body: some FrameBody, within timeout: Duration) async -> Reply {
        let bytes = Self.frame(body)
        return await ask(timeout) { [self] in write(bytes) }
    }

    /// Sends a request on the session of the link, which is the first reliable frame, and awaits the answer.
    func send(_ request: Request, within timeout: Duration) async -> Reply {
        var header = FrameHeader(type: Request.type)
        header.sequence = 1
        header.flags.insert(.reliable)
        let bytes = header.frame(body: request.encode().rawBytes)
        return await ask(timeout) { [self] in write(bytes) }
    }

    /// Ends the link and the connection with a goaway, so that the relay keeps no link (C-7).
    func leave(within timeout: Duration) async {
        let bytes = Self.frame(GoAway(Notice(code: .none)))
        _ = await ask(timeout) { [self] in
            queued.removeAll { if case .failed = $0.answer { false } else { true } }
            write(bytes)
            transport.close(afterFlush: true)
        }
    }

    /// Ends the connection.
    func abort() { loop.execute { [self] in transport.abort() } }

    private static func frame(_ body: some FrameBody) -> [UInt8] {
        FrameHeader(type: type(of: body).type).frame(body: body.encode().rawBytes)
    }

    private func write(_ bytes: [UInt8]) {
        outgoing += bytes
        transport.setNeedsWrite()
    }

    private func ask(_ timeout: Duration, _ question: @escaping @Sendable () -> Void) async -> Reply {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in
                askedAt = EventLoop.clock
                waiter = continuation
                question()
                let timer = LoopTimer(on: loop) { [self] in queue(.failed(.transport(.timedOut))) }
                timer.set(deadline: loop.deadline(after: timeout))
                self.timer = timer
                deliver()
            }
        }
    }

    private func queue(_ answer: Answer) {
        guard queued.count < Self.maxQueuedCount else { return transport.abort() }
        queued.append((answer, EventLoop.clock))
        deliver()
    }

    /// Passes the oldest answer to the waiter. A failure is the answer to all later questions.
    private func deliver() {
        guard let waiter, let (answer, time) = queued.first else { return }
        if case .failed = answer {} else { queued.removeFirst() }
        timer?.set(deadline: nil)
        timer = nil
        self.waiter = nil
        let duration = Duration.nanoseconds(Int64(clamping: time > askedAt ? time - askedAt : 0))
        waiter.resume(returning: Reply(answer: answer, duration: duration))
    }

    // MARK: - Frames

    private func take(_ header: FrameHeader, _ body: RawSpan) throws(WireError) {
        switch header.type {
        case .auth where !hasWelcome:
            guard let message = try Auth(parsing: body).credential else { return queue(.failed(.unexpected(.auth))) }
            queue(.challenge(message))
        case .welcome: queue(.welcome(try Welcome(parsing: body)))
        case .reject: queue(.failed(.refused(try Reject(parsing: body).notice)))
        case .goaway: queue(.failed(.refused(try GoAway(parsing: body).notice)))
        case .pong where hasWelcome: queue(.pong(try Pong(parsing: body).nonce))
        case .response where hasWelcome: queue(.response(try Response(parsing: body)))
        case _ where hasWelcome: break
        case let type: queue(.failed(.unexpected(type)))
        }
    }

    /// Parses frames. Packets may follow the welcome (W-76).
    private func read(_ bytes: RawSpan) throws(WireError) {
        var offset = 0
        while offset < bytes.byteCount {
            var welcome: Welcome?
            offset += try framer.consume(bytes.extracting(droppingFirst: offset)) { header, body throws(WireError) in
                try take(header, body)
                guard header.type == .welcome, !hasWelcome else { return .proceed }
                welcome = try Welcome(parsing: body)
                return .stop
            }
            guard let welcome else { continue }
            hasWelcome = true
            framer.maxBodyByteCount = welcome.limits.maxBodyByteCount
            if welcome.features.contains(.compact) {
                framer.allowPackets(deflated: welcome.features.contains(.sharedDeflate))
            }
        }
    }

    // MARK: - TransportHandler

    func transportDidConnect(_ transport: any Transport) { queue(.open(transport.security)) }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        do throws(WireError) { try read(bytes) } catch {
            queue(.failed(.malformed(error)))
            transport.abort()
        }
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(buffer.freeCapacity, outgoing.count)
        buffer.append(bytes: outgoing.rawBytes.extracting(first: count))
        outgoing.removeFirst(count)
        return !outgoing.isEmpty
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        queue(.failed(DoctorFailure(reason)))
    }
}
