import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// Each number in each frame of a relay, replaced by the edges of arithmetic (Specs/hostile.md row 95).
@Suite("Numbers of a relay", .timeLimit(.minutes(10)))
struct ClientNumberTests {
    private static let digest = AttachmentDigest([UInt8](repeating: 7, count: AttachmentDigest.byteCount))!
    private static let log = LogID(rawValue: 6)
    private static let features = Features.supported.union([.compact, .attachments, .accountSession])
    /// The frames that end the connection, or that are refused, with any numbers.
    private static let unaccepted: Set<String> = ["open", "auth", "goaway", "suspend", "resume"]
    private static let text = Message.textContent("hey")

    /// A client with everything that a frame of a relay can concern, and the sessions of it.
    private final class Online {
        let stage = ClientStage { $0.link.features = features }
        let room: RoomID

        init() throws {
            let stage = stage
            stage.act { $0.useAccount(list: true, now: $1) }
            room = try stage.act { try $0.open(.lobby, now: $1) }
            stage.act { $0.handle(.start, now: $1) }
            stage.accept()
            stage.log.allowPackets()
            stage.welcome(features: features)
            for kind in [SessionKind.chat, .account] { stage.opened(session(kind), log: log) }
            let room = room
            try stage.act { try $0.send(counter: 1, content: MessageContent(text: "mine"), in: room, now: $1) }
            _ = try stage.act { try $0.request(.locate, in: room, deadline: .seconds(30), now: $1) }
            let transfers: [TransferKind] = [
                .download(digest, 0..<40_000, byteCount: 40_000), .upload(digest, byteCount: 9, mediaType: nil),
            ]
            for kind in transfers { _ = try stage.act { try $0.transfer(kind, in: room, now: $1) } }
            stage.opened(session(.attachment))
            _ = try stage.act { try $0.open(.named("attic"), now: $1) }
        }

        /// The session of the client's open frame with a kind.
        func session(_ kind: SessionKind, _ index: Int = 0) -> SessionID {
            let sessions = stage.log.frames.filter { $0.parsed(Open.self)?.kind == kind }.map(\.header.session)
            precondition(index < sessions.count, "the client has opened no session of kind \(kind)")
            return sessions[index]
        }

        /// The correlation of the client's last request with a method.
        func correlation(_ method: MethodName) -> UInt64 {
            stage.log.all(Request.self).last { $0.method == method }?.correlation ?? 0
        }

        /// Does what an application and time do next.
        func goOn() {
            let (stage, room) = (stage, room)
            try? stage.act { try $0.send(counter: 2, content: MessageContent(text: "more"), in: room, now: $1) }
            stage.act { $0.consumed(room, byteCount: 2, upTo: RoomCursor(log: log, offset: .max), now: $1) }
            stage.act { $0.markRead(room, upTo: .max, now: $1) }
            stage.run(for: .seconds(12))
            _ = stage.engine.status
        }
    }

    private struct Frame: Sendable {
        var type: FrameType
        var session: SessionKind?
        /// The number of the session among those of its kind.
        var index = 0
        var body: [UInt8]

        init(_ body: some FrameBody, on session: SessionKind? = nil, _ index: Int = 0) {
            type = Swift.type(of: body).type
            (self.session, self.index, self.body) = (session, index, body.encode())
        }
    }

    private static let entry = RoomEntry(
        room: .named("attic"), membership: .invited, inviter: .bob, changedAt: 5, log: log, lastOffset: 9,
        firstOffset: 2,
        message: message(9).encode(), delivered: 4, read: 3, unreadCount: 7)

    private static func message(_ offset: UInt64, timeToLive: Duration? = nil) -> Message {
        let stamp = RelayStamp(offset: offset, acceptedAt: 1000, sender: .bob, device: DeviceID(rawValue: 2))
        return Message(counter: offset, kind: .text, content: text, timeToLive: timeToLive, relay: stamp)
    }

    private static let echo = Echo(timestamp: 2, delay: .microseconds(3))
    private static let notice = Notice(
        code: .draining, retryAfter: .seconds(3), redirect: "martlets://b", spokenVersions: [.current])

    /// A frame of each type, which a client with the state of `Online` accepts but for those of `unaccepted`.
    private static let frames: [String: @Sendable (Online) -> Frame] = [
        "data": { _ in Frame(message(1, timeToLive: .seconds(9)), on: .chat) },
        "transient": { _ in Frame(Transient(.presence(.online), sender: .bob), on: .chat) },
        "transient with content": { _ in Frame(Transient(.message(.text, text), sender: .bob), on: .chat) },
        "ack": { online in
            let part = SessionAck(
                session: online.session(.chat), cumulative: 1, creditLimit: 1 << 20, ranges: [3...3])
            return Frame(Ack(echo: echo, linkCredit: 1 << 20, sessions: [part]))
        },
        "receipt": { _ in
            Frame(.progress(.init(.read, upTo: 1, sender: .bob, device: DeviceID(rawValue: 2))) as Receipt, on: .chat)
        },
        "refusal": { _ in Frame(.refused(.init(counter: 1, code: .forbidden)) as Receipt, on: .chat) },
        "accepted": { _ in
            Frame(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)]), on: .chat)
        },
        "gap": { _ in Frame(Gap(offsets: 1...2), on: .chat) },
        "ping": { _ in Frame(Ping(nonce: 1)) },
        "pong": { _ in Frame(Pong(nonce: 1, echo: echo, reconnectSpread: .seconds(1))) },
        "goaway": { _ in Frame(GoAway(notice)) },
        "auth": { _ in Frame(Auth(credentialLifetime: .seconds(60))) },
        "open": { _ in Frame(Open(room: .named("attic"), kind: .chat, cursor: 8, log: log, tail: 3), on: .chat) },
        "opened": { _ in Frame(Opened(head: 9, first: 2, log: log, upTo: 5, members: [.alice]), on: .chat, 1) },
        "update": { _ in Frame(RoomUpdate(entry), on: .account) },
        "close": { _ in Frame(Close(code: .draining), on: .chat) },
        "reset": { online in
            Frame(Reset(session: online.session(.chat), code: .serverBusy, retryAfter: .seconds(3), creditUsed: 20))
        },
        "suspend": { _ in Frame(Suspend(), on: .chat) }, "resume": { _ in Frame(Resume(cursor: 4), on: .chat) },
        "request": { _ in
            Frame(Request(correlation: 9, method: .locate, deadline: .seconds(5), sender: .bob), on: .chat)
        },
        "cancel": { _ in Frame(CancelRequest(correlation: 9), on: .chat) },
        "response": { online in
            let page = HistoryPage.content(of: Opened(head: 9, first: 1, log: log), messages: [message(9).encode()])
            return Frame(
                Response(
                    correlation: online.correlation(.locate), status: .none, retryAfter: .seconds(1), content: page),
                on: .chat)
        },
        "list": { online in
            let page = RoomListPage(entries: [entry], hasMore: true).content
            let correlation = online.correlation(MembershipMethod.list)
            return Frame(Response(correlation: correlation, status: .none, content: page), on: .account)
        },
        "bytes of an attachment": { online in
            let bytes = [UInt8](repeating: 3, count: AttachmentRequest.maxChunkByteCount)
            let content = AttachmentResponse.bytes(bytes, byteCount: 40_000).content
            let correlation = online.correlation(AttachmentMethod.read.name)
            return Frame(Response(correlation: correlation, status: .none, content: content), on: .attachment)
        },
        "position of an attachment": { online in
            let content = AttachmentResponse.position(0, byteCount: 9).content
            let correlation = online.correlation(AttachmentMethod.begin.name)
            return Frame(Response(correlation: correlation, status: .none, content: content), on: .attachment)
        },
    ]

    private func deliver(_ frame: Frame, _ body: [UInt8], to online: Online) {
        online.stage.say(
            frame.type, body, on: frame.session.map { online.session($0, frame.index) } ?? .control)
    }

    // Specs/hostile.md row 95
    @Test(arguments: frames.keys.sorted())
    func `a number of a frame is an edge of arithmetic -> the client does not trap`(name: String) throws {
        let make = try #require(Self.frames[name])
        let frame = make(try Online())
        for body in [frame.body] + NumberEdges.bodies(of: frame.body) {
            let online = try Online()
            deliver(frame, body, to: online)
            // The frame itself has no fault, so that those with other numbers are not all refused for another reason.
            if body == frame.body, !Self.unaccepted.contains(name) { #expect(online.stage.farewell == nil) }
            online.goOn()
        }
    }

    // Specs/hostile.md row 95
    @Test(arguments: [false, true])
    func `a number of welcome is an edge of arithmetic -> the client does not trap`(isResumed: Bool) throws {
        let positions = [
            SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1),
        ]
        let welcome = ClientStage.welcome(
            epoch: 2, heartbeatInterval: .seconds(30), reconnectSpread: .seconds(1), credentialLifetime: .seconds(60),
            resumed: isResumed ? positions : nil
        ).encode()
        for body in NumberEdges.bodies(of: welcome) {
            let stage = ClientStage()
            if isResumed {
                stage.goOnline(.lobby)
                stage.end()
                stage.run(for: .seconds(13))
            } else {
                stage.act { $0.handle(.start, now: $1) }
            }
            stage.accept()
            stage.say(.welcome, body)
            stage.run(for: .seconds(12))
        }
    }

    // Specs/hostile.md row 95
    @Test func `a number of reject is an edge of arithmetic -> the client does not trap`() {
        for body in NumberEdges.bodies(of: Reject(Self.notice).encode()) {
            let stage = ClientStage()
            stage.act { $0.handle(.start, now: $1) }
            stage.accept()
            stage.say(.reject, body)
            stage.run(for: .seconds(12))
        }
    }

    // Specs/hostile.md row 95
    @Test func `a number of a header is an edge of arithmetic -> the client does not trap`() throws {
        for value in NumberEdges.values(byteCount: 4, near: 2) {
            let low = UInt32(truncatingIfNeeded: value)
            let sessions = NumberEdges.values(byteCount: 2, near: 1).map { SessionID(rawValue: UInt16($0)) }
            for session in [SessionID.first] + (low == 2 ? sessions : []) {
                let online = try Online()
                var header = FrameHeader(type: .data, timestamp: low, flags: .reliable, session: session)
                header.sequence = low
                online.stage.send(header.frame(body: Self.message(1).encode().rawBytes))
                online.goOn()
            }
        }
    }
}
