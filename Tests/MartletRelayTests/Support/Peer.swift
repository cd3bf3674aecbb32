import MartletLink
import MartletTransport
import MartletWire

/// A scripted client, which sends frames or arbitrary bytes and waits for the relay's frames.
///
/// A `WirePeer` uses a socket, a `VirtualPeer` an engine in virtual time.
protocol Peer: AnyObject, Sendable {
    /// Sends bytes without a change.
    func send(_ bytes: [UInt8]) async
    /// Sends the frames that the closure encodes.
    func write(_ frames: @escaping @Sendable (inout FrameWriter) -> [UInt8]) async
    /// The relay's next frame or the end of the connection; throws `PeerError.nothing` when neither arrives.
    func arrival() async throws -> PeerArrival
    /// Ends the sending direction.
    func finish() async
    /// Breaks the connection as a network failure does.
    func cut() async
    /// Sets the automatic reply to each frame; by default `standardReply`.
    func setAutoReply(_ autoReply: @escaping AutoReply) async
    /// The time since the connection; nil in real time.
    var age: Duration? { get }
    /// Stops reading.
    func pauseReading() async
}

/// The automatic reply of a peer to a frame.
typealias AutoReply = @Sendable (inout FrameWriter, ReceivedFrame) -> [UInt8]

enum PeerArrival: Sendable {
    case frame(ReceivedFrame)
    case closed
}

/// An unexpected event in a test.
enum PeerError: Error {
    case frame(FrameType, Notice?)
    case closed
    case nothing
}

extension Peer {
    /// Stops acknowledgements and pongs, after which the relay closes the connection (S-29).
    func stopReplying() async {
        await setAutoReply { _, _ in [] }
    }

    func send<Body: FrameBody>(_ body: Body, on session: SessionID = .control) async {
        await write { $0.frame(body, on: session) }
    }

    /// Sends hello and waits for the welcome.
    @discardableResult
    func hello(_ hello: Hello = FrameWriter.hello()) async throws -> Welcome {
        await send(hello)
        return try await expect()
    }

    /// Opens a room and waits for `opened`.
    @discardableResult
    func open(
        _ room: String = "lobby", on session: SessionID = .first, cursor: UInt64 = 0, tail: UInt32? = nil,
        noLocal: Bool = false
    ) async throws -> Opened {
        await send(Open(room: RoomName(room)!, cursor: cursor, tail: tail, noLocal: noLocal), on: session)
        return try await expect()
    }

    /// Publishes a text and returns its offset when it is accepted. Frames before that are discarded.
    @discardableResult
    func publish(_ text: String, counter: UInt64, on session: SessionID = .first) async throws -> UInt64 {
        await write { $0.text(text, counter: counter, on: session) }
        while true {
            let accepted: Accepted = try await next()
            if let offset = accepted.runs.lazy.compactMap({ $0.offset(of: counter) }).first { return offset }
        }
    }

    /// Acknowledges all frames of a session up to `cumulative`, with unlimited credit.
    func acknowledge(_ cumulative: UInt64, on session: SessionID = .first) async {
        let part = SessionAck(session: session, cumulative: cumulative, creditLimit: 1 << 40)
        await send(Ack(linkCredit: 1 << 40, sessions: [part]))
    }

    /// The next frame other than an acknowledgement, ping or transient, as its expected type.
    func expect<Body: FrameBody>(_: Body.Type = Body.self) async throws -> Body {
        try await frame(skipping: [.ack, .ping, .transient]).parsed()
    }

    /// The next frame of a type. Other frames are discarded.
    func next<Body: FrameBody>(_: Body.Type = Body.self) async throws -> Body {
        while true {
            let frame = try await frame()
            if frame.header.type == Body.type { return try frame.parsed() }
        }
    }

    /// The next frame; throws at the end of the connection.
    func frame(skipping skipped: Set<FrameType> = []) async throws -> ReceivedFrame {
        while true {
            guard case .frame(let frame) = try await arrival() else { throw PeerError.closed }
            if !skipped.contains(frame.header.type) { return frame }
        }
    }

    /// The last notice of the relay, when the connection has closed; nil without a notice.
    func finalNotice() async throws -> Notice? {
        var last: Notice?
        while case .frame(let frame) = try await arrival() { last = frame.notice ?? last }
        return last
    }
}

extension SessionID {
    static let first = SessionID(rawValue: 1)
    static let second = SessionID(rawValue: 3)
}
