import MartletLink
import MartletTransport
import MartletWire

/// A scripted client on a socket.
///
/// It runs on the shared loop. A wait ends with `PeerError.nothing` after `timeout`, which bounds a failing test.
final class WirePeer: Peer, TransportHandler, @unchecked Sendable {
    static let timeout = Duration.seconds(300)

    private let loop: EventLoop
    private let connection: TCPConnection
    private var outgoing: [UInt8] = []
    private var written = 0
    private var splitter = FrameSplitter()
    private var arrivals = Deque<PeerArrival>()
    private var waiter: CheckedContinuation<PeerArrival, any Error>?
    private var timer: LoopTimer?
    private var frameWriter = FrameWriter()
    private var autoReply: AutoReply = FrameWriter.standardReply
    private var positions: [SessionID: UInt64] = [:]

    private init(_ connection: TCPConnection) {
        self.connection = connection
        loop = connection.loop
    }

    /// Connects to a relay on this machine.
    static func connect(
        to port: UInt16, host: String = "127.0.0.1", options: TCPOptions = TCPOptions()
    ) async throws -> WirePeer {
        var connector = TCPConnector.Options()
        connector.connection = options
        let endpoint = try Endpoint(host: host, port: port, security: .plain)
        let connection = try await TCPConnector.connect(to: [endpoint], on: .shared, options: connector)
        let peer = WirePeer(connection)
        await peer.onLoop { connection.start(peer) }
        return peer
    }

    // MARK: - Sending

    func send(_ bytes: [UInt8]) async {
        await onLoop { [self] in
            outgoing += bytes
            connection.setNeedsWrite()
        }
    }

    func write(_ frames: @escaping @Sendable (inout FrameWriter) -> [UInt8]) async {
        await onLoop { [self] in
            outgoing += frames(&frameWriter)
            connection.setNeedsWrite()
        }
    }

    func finish() async {
        await onLoop { [self] in connection.close(afterFlush: true) }
    }

    func cut() async {
        await onLoop { [self] in connection.abort() }
    }

    /// The frame writer with its current sequences.
    var writer: FrameWriter {
        get async {
            await withCheckedContinuation { continuation in
                loop.execute { [self] in continuation.resume(returning: frameWriter) }
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

    /// Continues with the sequences of another connection.
    func setWriter(_ writer: FrameWriter) async {
        await onLoop { [self] in frameWriter = writer }
    }

    func setAutoReply(_ autoReply: @escaping AutoReply) async {
        await onLoop { [self] in self.autoReply = autoReply }
    }

    var age: Duration? { nil }

    func pauseReading() async {
        await onLoop { [self] in connection.pauseReading() }
    }

    func resumeReading() async {
        await onLoop { [self] in connection.resumeReading() }
    }

    // MARK: - Receiving

    func arrival() async throws -> PeerArrival {
        try await withCheckedThrowingContinuation { continuation in
            loop.execute { [self] in wait(continuation) }
        }
    }

    private func wait(_ continuation: CheckedContinuation<PeerArrival, any Error>) {
        precondition(waiter == nil, "one at a time")
        if let arrival = arrivals.popFirst() {
            // Later waits also see the end.
            if case .closed = arrival { arrivals.append(arrival) }
            return continuation.resume(returning: arrival)
        }
        waiter = continuation
        let timer = LoopTimer(on: loop) { [self] in
            waiter?.resume(throwing: PeerError.nothing)
            waiter = nil
            self.timer = nil
        }
        self.timer = timer
        timer.set(deadline: loop.deadline(after: Self.timeout))
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

    // MARK: - TransportHandler

    func transportDidConnect(_ transport: any Transport) {}

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        guard let frames = try? splitter.frames(in: bytes) else { return connection.abort() }
        for frame in frames {
            outgoing += autoReply(&frameWriter, frame)
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
