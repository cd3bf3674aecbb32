import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Each number in each frame of a client, replaced by the edges of arithmetic (Specs/hostile.md row 95).
@Suite("Numbers of a client", .timeLimit(.minutes(10)))
struct RelayNumberTests {
    private static let digest = AttachmentDigest([UInt8](repeating: 7, count: AttachmentDigest.byteCount))!
    private static let text = Message.textContent("hey")
    private static let account = SessionID(rawValue: 5)

    /// A relay with roles, the owner of a room, and a member with all kinds of sessions.
    private final class Online {
        let stage = RelayStage {
            $0.roomRoles = RoomRolesConfiguration()
            $0.asksRoomPolicy = true
        }
        let alice: RawPeer
        let mallory: RawPeer

        init() {
            stage.relay.policy = { request in
                .granted(request.identity.account == .named("mallory") ? [.all, .administer] : .all)
            }
            alice = stage.member("alice", of: .lobby)
            for counter in 1...3 as ClosedRange<UInt64> { alice.text("text", counter: counter) }
            mallory = stage.connect()!
            mallory.greet(features: .all)
            mallory.open(.lobby, on: .first)
            mallory.say(Open(room: .lobby, kind: .attachment, cursor: 0), on: .second)
            mallory.say(Open(room: .named("mallory"), kind: .account, cursor: 0), on: RelayNumberTests.account)
            mallory.text("mine", counter: 1)
            ask(1, AttachmentRequest.begin(digest, byteCount: 40_000, mediaType: nil))
            alice.say(
                Request(correlation: 8, method: .locate, deadline: .seconds(30), recipient: .named("mallory")),
                on: .first)
            stage.run(for: .milliseconds(500))
        }

        private func ask(_ correlation: UInt64, _ request: AttachmentRequest) {
            mallory.say(
                Request(
                    correlation: correlation, method: request.method.name, deadline: .seconds(9),
                    content: request.content), on: .second)
        }

        /// Does what the others and time do next.
        func goOn() {
            alice.text("next", counter: 4)
            alice.say(Receipt.progress(.init(.read, upTo: .max)), on: .first)
            alice.request(.announce(MessageContent(text: "announced")))
            stage.run(for: .seconds(3))
            if mallory.closedAt == nil { mallory.cut() }
            stage.run(for: .seconds(1))
        }
    }

    private struct Frame {
        var type: FrameType
        var session: SessionID
        var body: [UInt8]

        init(_ body: some FrameBody, on session: SessionID = .control) {
            type = Swift.type(of: body).type
            (self.session, self.body) = (session, body.encode())
        }

        init(
            _ method: MethodName, _ content: [UInt8]?, on session: SessionID = .first, to recipient: AccountName? = nil
        ) {
            self.init(
                Request(
                    correlation: 9, method: method, deadline: .seconds(5), recipient: recipient, content: content),
                on: session)
        }

        init(_ operation: RoomOperation) { self.init(operation.method.name, operation.content) }

        init(_ request: AttachmentRequest) { self.init(request.method.name, request.content, on: .second) }

        init(_ operation: MembershipOperation) {
            self.init(operation.method.name, operation.content(of: .lobby), on: RelayNumberTests.account)
        }

        init(_ body: MessageBody) throws {
            let content = try body.content
            self.init(Message(counter: 2, content: content), on: .first)
        }
    }

    private static func reference(_ offset: UInt64) -> MessageReference {
        MessageReference(
            MessageID(sender: .named("mallory"), device: DeviceID(rawValue: 1), counter: 1), offset: offset)
    }

    private static let echo = Echo(timestamp: 2, delay: .microseconds(3))
    private static let ack = Ack(
        echo: echo, linkCredit: 1 << 20,
        sessions: [SessionAck(session: .first, cumulative: 1, creditLimit: 1 << 20, ranges: [3...3])])

    /// Frames that a relay with the state of `Online` accepts.
    private static func frames() throws -> [String: Frame] {
        [
            "data": Frame(Message(counter: 2, kind: .text, content: text, timeToLive: .seconds(9)), on: .first),
            "edit": try Frame(.edit(of: reference(4), text: "new")),
            "delete": try Frame(.delete(reference(4))),
            "transient": Frame(Transient(.presence(.online)), on: .first),
            "typing": Frame(Transient(.typing(true)), on: .first),
            "ack": Frame(ack), "ping": Frame(Ping(nonce: 1)),
            "delivered": Frame(.progress(.init(.delivered, upTo: 2)) as Receipt, on: .first),
            "pong": Frame(Pong(nonce: 1, echo: echo)),
            "goaway": Frame(GoAway(Notice(code: .draining, retryAfter: .seconds(3), spokenVersions: [.current]))),
            "auth": Frame(Auth(credential: Credential("secret"))),
            "open": Frame(
                Open(room: .named("attic"), kind: .chat, cursor: 8, log: LogID(rawValue: 6), tail: 3),
                on: SessionID(rawValue: 7)),
            "close": Frame(Close(code: .draining), on: .first), "suspend": Frame(Suspend(), on: .first),
            "reset": Frame(Reset(session: .first, code: .cancelled, retryAfter: .seconds(3), creditUsed: 900)),
            "resume": Frame(Resume(cursor: 4), on: .first),
            "request": Frame(.locate, text, to: .alice), "cancel": Frame(CancelRequest(correlation: 9), on: .first),
            "response": Frame(
                Response(correlation: 1, status: .none, retryAfter: .seconds(1), content: text), on: .first),
            "history before": Frame(HistoryQuery.method, HistoryQuery(.before(3), limit: 2).content),
            "history after": Frame(HistoryQuery.method, HistoryQuery(.after(3), limit: 2).content),
            "history from": Frame(HistoryQuery.method, HistoryQuery(.acceptedFrom(3), limit: 2).content),
            "mute": Frame(.mute(.alice, seconds: 9) as RoomOperation),
            "role": Frame(.setRole(.moderator, of: .alice) as RoomOperation),
            "access": Frame(.setAccess(.open) as RoomOperation),
            "announce": Frame(.announce(MessageContent(text: "new")) as RoomOperation),
            "join": Frame(.join as MembershipOperation),
            "read": Frame(.read(upTo: 3, log: LogID(rawValue: 6)) as MembershipOperation),
            "list": Frame(
                MembershipMethod.list, RoomListQuery(after: .lobby, limit: 9).content, on: account),
            "begin": Frame(.begin(digest, byteCount: 9, mediaType: nil) as AttachmentRequest),
            "write": Frame(.write(digest, position: 0, [1, 2, 3]) as AttachmentRequest),
            "bytes": Frame(.read(digest, position: 0, length: 9) as AttachmentRequest),
        ]
    }

    private static let names = ((try? frames()) ?? [:]).keys.sorted()

    // Specs/hostile.md row 95
    @Test(arguments: names)
    func `a number of a frame is an edge of arithmetic -> the relay does not trap, and serves others`(name: String)
        throws
    {
        let frame = try #require(try Self.frames()[name])
        for body in [frame.body] + NumberEdges.bodies(of: frame.body) {
            let online = Online()
            online.mallory.say(frame.type, body, on: frame.session)
            // The frame itself has no fault, so that those with other numbers are not all refused for another reason.
            if body == frame.body, name != "auth" { #expect(online.mallory.farewell == nil) }
            online.stage.run(for: .seconds(1))
            #expect(online.alice.closedAt == nil)
            online.goOn()
        }
    }

    // R-26, Specs/hostile.md row 95
    @Test func `a counter is an edge of arithmetic and the store fails -> the relay does not trap`() throws {
        let frame = Frame(Message(counter: 2, kind: .text, content: Self.text), on: .first)
        for isFirst in [false, true] {
            for body in NumberEdges.bodies(of: frame.body) {
                let online = Online()
                let peer = isFirst ? online.stage.member("carol", of: .lobby) : online.mallory
                online.stage.relay.refusesAppends = true
                peer.say(.data, body, on: .first)
                online.stage.run(for: .seconds(1))
                online.stage.relay.refusesAppends = false
                online.goOn()
            }
        }
    }

    // Specs/hostile.md row 95
    @Test(arguments: [false, true])
    func `a number of hello is an edge of arithmetic -> the relay does not trap`(isResumed: Bool) throws {
        func begin() throws -> (RelayStage, RawPeer, Hello) {
            let stage = RelayStage()
            let first = stage.member("mallory", of: .lobby)
            let welcome = try #require(first.log.last(Welcome.self))
            if isResumed { first.cut() }
            let positions = [
                SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1),
            ]
            let resume = ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions)
            return (stage, stage.connect()!, RawPeer.hello(device: isResumed ? 1 : 2, resume: isResumed ? resume : nil))
        }
        let (stage, peer, hello) = try begin()
        peer.say(hello)
        #expect(peer.log.last(Welcome.self)?.epoch == Epoch(rawValue: isResumed ? 2 : 1))
        _ = stage
        for body in NumberEdges.bodies(of: hello.encode()) {
            let (stage, peer, _) = try begin()
            peer.say(.hello, body)
            peer.open(.lobby, on: isResumed ? .second : .first)
            stage.run(for: .seconds(40))
        }
    }

    // Specs/hostile.md row 95
    @Test func `a number of a header is an edge of arithmetic -> the relay does not trap`() {
        let body = Message.encodeClient(counter: 2, kind: .text, content: Self.text)
        for value in NumberEdges.values(byteCount: 4, near: 5) {
            let low = UInt32(truncatingIfNeeded: value)
            let sessions = NumberEdges.values(byteCount: 2, near: 1).map { SessionID(rawValue: UInt16($0)) }
            for session in [SessionID.first] + (low == 5 ? sessions : []) {
                let online = Online()
                var header = FrameHeader(type: .data, timestamp: low, flags: .reliable, session: session)
                header.sequence = low
                online.mallory.send(header.frame(body: body.rawBytes))
                online.goOn()
            }
        }
    }
}
