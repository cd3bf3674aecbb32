import MartletProtocol
import MartletTransport
import MartletWire

/// A client on a real socket that says what the test tells it, frame by frame, and waits for the relay's frames.
///
/// Lives on the shared loop. Waiting ends with `Surprise.nothing` when `patience` is over: a bound for a test that
/// fails, not a measure.
final class WirePeer: Peer, TransportHandler, @unchecked Sendable {
    static let patience = Duration.seconds(300)

    private let loop: EventLoop
    private let connection: TCPConnection
    private var outgoing: [UInt8] = []
    private var written = 0
    private var cutter = FrameCutter()
    private var arrivals = Deque<PeerArrival>()
    private var waiter: CheckedContinuation<PeerArrival, any Error>?
    private var timer: LoopTimer?
    private var words = Speaker()
    private var manners: Manners = Speaker.polite
    private var positions: [SessionID: UInt64] = [:]

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

    func send(_ bytes: [UInt8]) async {
        await onLoop { [self] in
            outgoing += bytes
            connection.setNeedsWrite()
        }
    }

    func say(_ said: @escaping @Sendable (inout Speaker) -> [UInt8]) async {
        await onLoop { [self] in
            outgoing += said(&words)
            connection.setNeedsWrite()
        }
    }

    func finish() async {
        await onLoop { [self] in connection.close(afterFlush: true) }
    }

    func cut() async {
        await onLoop { [self] in connection.abort() }
    }

    /// The speaker, with its sequences as they are.
    var speaker: Speaker {
        get async {
            await withCheckedContinuation { continuation in
                loop.execute { [self] in continuation.resume(returning: words) }
            }
        }
    }

    /// The highest sequence received on each session.
    var received: [SessionID: UInt64] {
        get async {
            await withCheckedContinuation { continuation in
                loop.execute { [self] in continuation.resume(returning: positions) }
            }
        }
    }

    /// Goes on where another connection stopped.
    func setSpeaker(_ speaker: Speaker) async {
        await onLoop { [self] in words = speaker }
    }

    func setManners(_ manners: @escaping Manners) async {
        await onLoop { [self] in self.manners = manners }
    }

    var age: Duration? { nil }

    func pauseReading() async {
        await onLoop { [self] in connection.pauseReading() }
    }

    func resumeReading() async {
        await onLoop { [self] in connection.resumeReading() }
    }

    // MARK: Listening

    func arrival() async throws -> PeerArrival {
        try await withCheckedThrowingContinuation { continuation in
            loop.execute { [self] in wait(continuation) }
        }
    }

    private func wait(_ continuation: CheckedContinuation<PeerArrival, any Error>) {
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
            self.timer = nil
        }
        self.timer = timer
        timer.set(deadline: loop.deadline(after: Self.patience))
    }

    private func arrived(_ arrival: PeerArrival) {
        guard waiter != nil else { return arrivals.append(arrival) }
        timer?.set(deadline: nil)
        timer = nil
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
        for frame in frames {
            outgoing += manners(&words, frame)
            if frame.header.flags.contains(.reliable) {
                positions[frame.header.session] = UInt64(frame.header.sequence)
            }
            arrived(.frame(frame))
        }
        if !outgoing.isEmpty { connection.setNeedsWrite() }
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(buffer.freeCapacity, outgoing.count - written)
        buffer.append(bytes: outgoing.rawBytes.extracting(written..<written + count))
        written += count
        guard written == outgoing.count else { return true }
        outgoing.removeAll(keepingCapacity: true)
        written = 0
        return true
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        arrived(.closed)
    }
}
