import MartletProtocol
import MartletTransport
import MartletWire

/// A client in a test's hands: says frames or mere bytes, and waits for the relay's frames.
///
/// On a socket (`WirePeer`) or against an engine in virtual time (`VirtualPeer`).
protocol Peer: AnyObject, Sendable {
    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) async
    /// Sends what the speaker is told to say.
    func say(_ words: @escaping @Sendable (inout Speaker) -> [UInt8]) async
    /// The relay's next frame, or the end; throws `Surprise.nothing` when neither comes.
    func arrival() async throws -> PeerArrival
    /// Sends no more, and says so.
    func finish() async
    /// Cuts the connection, as a network would.
    func cut() async
    /// What it answers to each frame, as soon as that comes; it is polite unless it is told otherwise.
    func setManners(_ manners: @escaping Manners) async
    /// How long ago the peer connected; nil where time is real and nobody measures it.
    var age: Duration? { get }
    /// Reads no more, as far as the relay's side can see.
    func pauseReading() async
}

/// What a peer says to a frame of the relay, without being told by the test.
typealias Manners = @Sendable (inout Speaker, ReceivedFrame) -> [UInt8]

enum PeerArrival: Sendable {
    case frame(ReceivedFrame)
    case closed
}

/// Something came that the test did not expect.
enum Surprise: Error {
    case frame(FrameType, Notice?)
    case closed
    case nothing
}

extension Peer {
    /// Acknowledges nothing from now on, and answers no ping: soon it is taken for dead (S-29).
    func fallSilent() async {
        await setManners { _, _ in [] }
    }

    func send<Body: FrameBody>(_ body: Body, on session: SessionID = .control) async {
        await say { $0.frame(body, on: session) }
    }

    /// Says hello and waits for the answer.
    @discardableResult
    func hello(_ hello: Hello = Speaker.hello()) async throws -> Welcome {
        await send(hello)
        return try await expect()
    }

    /// Opens a room and waits until it is.
    @discardableResult
    func open(
        _ room: String = "lobby", on session: SessionID = .first, cursor: UInt64 = 0, tail: UInt32? = nil,
        noLocal: Bool = false
    ) async throws -> Opened {
        await send(Open(room: RoomName(room)!, cursor: cursor, tail: tail, noLocal: noLocal), on: session)
        return try await expect()
    }

    /// Sends a text and waits until it is accepted; returns its offset. What comes before that is lost.
    @discardableResult
    func post(_ text: String, counter: UInt64, on session: SessionID = .first) async throws -> UInt64 {
        await say { $0.text(text, counter: counter, on: session) }
        while true {
            let accepted: Accepted = try await next()
            if let offset = accepted.runs.lazy.compactMap({ $0.offset(of: counter) }).first { return offset }
        }
    }

    /// Acknowledges what has come on a session, with all the credit there is.
    func acknowledge(_ cumulative: UInt64, on session: SessionID = .first) async {
        let part = SessionAck(session: session, cumulative: cumulative, creditLimit: 1 << 40)
        await send(Ack(linkCredit: 1 << 40, sessions: [part]))
    }

    /// The next frame that is not an acknowledgement, a ping or transient, as the type it has to be.
    func expect<Body: FrameBody>(_: Body.Type = Body.self) async throws -> Body {
        try await frame(skipping: [.ack, .ping, .transient]).parsed()
    }

    /// The next frame of a type, whatever comes before it.
    func next<Body: FrameBody>(_: Body.Type = Body.self) async throws -> Body {
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
}

extension SessionID {
    static let first = SessionID(rawValue: 1)
    static let second = SessionID(rawValue: 3)
}
