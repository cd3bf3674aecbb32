import MartletProtocol
import MartletTransport
import MartletWire

/// A client on a real socket that says what the test tells it, frame by frame, and waits for the relay's frames.
///
/// Lives on the shared loop. Waiting ends with `Surprise.nothing` when `patience` is over: a bound for a test that
/// fails, not a measure.
final class WirePeer: TransportHandler, @unchecked Sendable {
    static let patience = Duration.seconds(30)

    enum Arrival: Sendable {
        case frame(ReceivedFrame)
        case closed(CloseReason)
    }

    private let loop: EventLoop
    private let connection: TCPConnection
    private var outgoing: [UInt8] = []
    private var written = 0
    private var cutter = FrameCutter()
    private var arrivals = Deque<Arrival>()
    private var waiter: CheckedContinuation<Arrival, any Error>?
    private var timer: LoopTimer?
    private var isFinishing = false
    private(set) var speaker = Speaker()

    private init(_ connection: TCPConnection) {
        self.connection = connection
        loop = connection.loop
    }

    /// Connects to a relay on this machine.
    static func connect(to port: UInt16, options: TCPOptions = TCPOptions()) async throws -> WirePeer {
        var race = TCPConnector.Options()
        race.connection = options
        let endpoint = try Endpoint(host: "127.0.0.1", port: port, security: .plain)
        let connection = try await TCPConnector.connect(to: [endpoint], on: .shared, options: race)
        let peer = WirePeer(connection)
        await peer.onLoop { connection.start(peer) }
        return peer
    }

    // MARK: Speaking

    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) async {
        await onLoop { [self] in
            outgoing += bytes
            connection.setNeedsWrite()
        }
    }

    /// Sends what the speaker is told to say.
    func say(_ words: @escaping @Sendable (inout Speaker) -> [UInt8]) async {
        await onLoop { [self] in
            outgoing += words(&speaker)
            connection.setNeedsWrite()
        }
    }

    func send<Body: FrameBody>(_ body: Body, on session: SessionID = .control) async {
        await say { $0.frame(body, on: session) }
    }

    /// Says hello and waits for the answer.
    func hello(_ hello: Hello = Speaker.hello()) async throws -> Welcome {
        await send(hello)
        return try await expect()
    }

    /// Opens a room and waits until it is.
    func open(
        _ room: String, on session: SessionID = SessionID(rawValue: 1), cursor: UInt64 = 0, tail: UInt32? = nil,
        noLocal: Bool = false
    ) async throws -> Opened {
        await send(Open(room: RoomName(room)!, cursor: cursor, tail: tail, noLocal: noLocal), on: session)
        return try await expect()
    }

    /// Ends the stream in order.
    func finish() async {
        await onLoop { [self] in connection.close(afterFlush: true) }
    }

    /// Cuts the connection, as a network would.
    func cut() async {
        await onLoop { [self] in connection.abort() }
    }

    func pauseReading() async {
        await onLoop { [self] in connection.pauseReading() }
    }

    func resumeReading() async {
        await onLoop { [self] in connection.resumeReading() }
    }

    // MARK: Listening

    /// The next frame that is not an acknowledgement, a ping or somebody's presence, as the type it has to be.
    func expect<Body: FrameBody>(_: Body.Type = Body.self) async throws -> Body {
        try await frame(skipping: [.ack, .ping, .transient]).parsed()
    }

    /// The next frame of a type, whatever comes before it.
    func await<Body: FrameBody>(_: Body.Type = Body.self) async throws -> Body {
        while true {
            let frame = try await frame()
            if frame.header.type == Body.type { return try frame.parsed() }
        }
    }

    /// The next frame; throws when the connection ends instead.
    func frame(skipping skipped: Set<FrameType> = []) async throws -> ReceivedFrame {
        while true {
            guard case .frame(let frame) = try await arrival() else { throw Surprise.closed }
            if !skipped.contains(frame.header.type) { return frame }
        }
    }

    /// What the relay says last; nil when it closes without a word. Returns when the connection is over.
    func farewell() async throws -> Notice? {
        var last: Notice?
        while case .frame(let frame) = try await arrival() { last = frame.notice ?? last }
        return last
    }

    /// The next frame, or the end.
    func arrival() async throws -> Arrival {
        try await withCheckedThrowingContinuation { continuation in
            loop.execute { [self] in wait(continuation) }
        }
    }

    private func wait(_ continuation: CheckedContinuation<Arrival, any Error>) {
        precondition(waiter == nil, "one at a time")
        if let arrival = arrivals.popFirst() {
            // The end is for whoever asks again, too.
            if case .closed = arrival { arrivals.append(arrival) }
            return continuation.resume(returning: arrival)
        }
        waiter = continuation
        let timer = LoopTimer(on: loop) { [self] in
            waiter?.resume(throwing: Surprise.nothing)
            waiter = nil
        }
        self.timer = timer
        timer.set(deadline: loop.deadline(after: Self.patience))
    }

    private func arrived(_ arrival: Arrival) {
        guard waiter != nil else { return arrivals.append(arrival) }
        timer?.set(deadline: nil)
        if case .closed = arrival { arrivals.append(arrival) }
        waiter?.resume(returning: arrival)
        waiter = nil
    }

    private func onLoop(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            loop.execute {
                work()
                continuation.resume()
            }
        }
    }

    // MARK: The transport's calls

    func transportDidConnect(_ transport: any Transport) {}

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        guard let frames = try? cutter.frames(in: bytes) else { return connection.abort() }
        for frame in frames { arrived(.frame(frame)) }
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) {
        let count = min(buffer.freeCapacity, outgoing.count - written)
        buffer.append(bytes: outgoing.rawBytes.extracting(written..<written + count))
        written += count
        guard written == outgoing.count else { return }
        outgoing.removeAll(keepingCapacity: true)
        written = 0
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        arrived(.closed(reason))
    }
}
