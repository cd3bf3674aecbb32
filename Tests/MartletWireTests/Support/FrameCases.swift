import MartletWire
import Testing

/// A frame with all its fields, and the rules for these fields.
struct FrameCase: CustomTestStringConvertible, Sendable {
    let name: String
    let frame: Frame
    /// The required fields.
    let required: [Tag]
    /// The repeatable fields, with their maximum number.
    let repeats: [Tag: Int]
    /// The text fields, with the bounds of their bytes.
    let texts: [Tag: ClosedRange<Int>]
    /// The fields with bytes of any length.
    let opaque: [Tag]

    init(
        _ name: String, _ frame: Frame, required: [Tag], repeats: [Tag: Int] = [:],
        texts: [Tag: ClosedRange<Int>] = [:],
        opaque: [Tag] = []
    ) {
        self.name = name
        self.frame = frame
        self.required = required
        self.repeats = repeats
        self.texts = texts
        self.opaque = opaque
    }

    var testDescription: String { name }

    /// The outermost fields.
    var fields: [Field] {
        get throws { try MartletWireTests.fields(of: frame.encode()) }
    }

    /// The tags of the outermost fields.
    var tags: Set<Tag> {
        get throws { Set(try fields.map(\.tag)) }
    }

    /// The fields whose length follows from their tag.
    var fixed: [Field] {
        get throws {
            try fields.filter { !$0.tag.isContainer && texts[$0.tag] == nil && !opaque.contains($0.tag) }
        }
    }
}

let ada = AccountName("ada")
let noor = AccountName("noor")
let token = ResumeToken(0x0001_0203_0405_0607, 0x0809_0A0B_0C0D_0E0F, 0x1011_1213_1415_1617, 0x1819_1A1B_1C1D_1E1F)
let stamp = RelayStamp(offset: 7, acceptedAt: 1_700_000_000_000, sender: noor, device: DeviceID(rawValue: 2))

private let notice = Notice(
    code: .draining, reason: "restart", retryAfter: .milliseconds(1500), redirect: "martlets://b.example",
    spokenVersions: [.current, WireVersion(major: 2, minor: 3)])
private let noticeTexts: [Tag: ClosedRange<Int>] = [.reason: 0...256, .redirect: 1...512]
private let positions = [
    SessionPosition(session: SessionID(rawValue: 1), received: 9),
    SessionPosition(session: SessionID(rawValue: 3), received: .max),
]
private let name = 1...128

let frameCases: [FrameCase] = [
    FrameCase(
        "hello",
        .hello(
            Hello(
                device: DeviceID(rawValue: 1), account: ada, mechanism: MechanismName("X-TEST"),
                credential: Credential("secret"), agent: "test",
                resume: ResumePoint(link: LinkID(rawValue: 5), token: token, positions: positions))),
        required: [.spokenVersion, .features, .limits, .device, .account], repeats: [.spokenVersion: 16],
        texts: [.account: name, .mechanism: 1...32, .agent: 0...128], opaque: [.credential]),
    FrameCase(
        "welcome",
        .welcome(
            Welcome(
                features: .zlib, limits: .minimum, account: ada, link: LinkID(rawValue: 5), resumeToken: token,
                epoch: Epoch(rawValue: 2), resumeLifetime: .seconds(600), heartbeatInterval: .seconds(30),
                reconnectSpread: .seconds(16),
                credential: Credential("proof"), credentialLifetime: .seconds(60), resumed: positions)),
        required: [.spokenVersion, .features, .limits, .account, .link, .resumeToken, .epoch, .resumeLifetime],
        texts: [.account: name], opaque: [.credential]),
    FrameCase(
        "reject", .reject(Reject(notice)), required: [.code], repeats: [.spokenVersion: 16], texts: noticeTexts),
    FrameCase(
        "goaway", .goAway(GoAway(notice)), required: [.code], repeats: [.spokenVersion: 16], texts: noticeTexts),
    FrameCase(
        "auth", .auth(Auth(credential: Credential("secret"), credentialLifetime: .seconds(60))), required: [],
        opaque: [.credential]),
    FrameCase("ping", .ping(Ping(nonce: 1)), required: [.nonce]),
    FrameCase(
        "pong", .pong(Pong(nonce: 1, echo: Echo(timestamp: 2, delay: .microseconds(3)), reconnectSpread: .seconds(1))),
        required: [.nonce, .echo]),
    FrameCase(
        "ack",
        .ack(
            Ack(
                echo: Echo(timestamp: 2, delay: .microseconds(3)), linkCredit: 1 << 20,
                sessions: [
                    SessionAck(
                        session: SessionID(rawValue: 1), cumulative: 5, creditLimit: 9, ranges: [7...7, 9...12]),
                    SessionAck(session: .control, cumulative: 0, creditLimit: 0),
                ])),
        required: [.linkCredit], repeats: [.sessionAck: 256]),
    FrameCase(
        "receipt that reports progress",
        .receipt(.progress(.init(.read, upTo: 8, sender: ada, device: DeviceID(rawValue: 1)))),
        required: [.receiptKind, .upTo], texts: [.sender: name]),
    FrameCase(
        "receipt that refuses", .receipt(.refused(.init(counter: 8, code: .refused, reason: "no"))),
        required: [.receiptKind, .counter, .code], texts: [.reason: 0...256]),
    FrameCase(
        "accepted",
        .accepted(
            Accepted(runs: [
                AcceptedRun(firstCounter: 1, count: 2, firstOffset: 30),
                AcceptedRun(firstCounter: 4, count: 1, firstOffset: 33),
            ])),
        required: [.acceptedRun], repeats: [.acceptedRun: 256]),
    FrameCase("gap", .gap(Gap(offsets: 3...9)), required: [.first, .upTo]),
    FrameCase(
        "open", .open(Open(room: RoomName("lobby"), kind: .file, cursor: 8, log: LogID(rawValue: 6), tail: 50)),
        required: [.room, .sessionKind, .cursor], texts: [.room: name]),
    FrameCase(
        "opened",
        .opened(Opened(head: 9, first: 2, log: LogID(rawValue: 6), upTo: 5, counter: 4, members: [ada, noor])),
        required: [.head, .first],
        repeats: [.member: 256], texts: [.member: name]),
    FrameCase(
        "close", .close(Close(code: .closedByPeer, reason: "bye")), required: [], texts: [.reason: 0...256]),
    FrameCase(
        "reset",
        .reset(
            Reset(
                session: SessionID(rawValue: 3), code: .creditExceeded, reason: "too much", retryAfter: .seconds(3))),
        required: [.session, .code], texts: [.reason: 0...256]),
    FrameCase("suspend", .suspend(Suspend()), required: []),
    FrameCase("resume", .resume(Resume(cursor: 4)), required: []),
    FrameCase(
        "update",
        .update(
            RoomUpdate(
                RoomEntry(
                    room: RoomName("lobby"), membership: .invited, inviter: noor, changedAt: 5,
                    log: LogID(rawValue: 6), lastOffset: 9, firstOffset: 2, message: [1, 2], isShortened: true,
                    delivered: 4, read: 3, unreadCount: 7))),
        required: [.room, .membership, .head, .first], texts: [.room: name, .inviter: name], opaque: [.message]),
    FrameCase(
        "request",
        .request(
            Request(
                correlation: 1, method: MethodName("weather")!, deadline: .seconds(5), recipient: noor, sender: ada,
                content: Message.textContent("Oslo"))),
        required: [.correlation, .method, .deadline],
        texts: [.method: 1...64, .recipient: name, .sender: name]),
    FrameCase(
        "response",
        .response(
            Response(
                correlation: 1, status: .noRecipient, reason: "gone", retryAfter: .milliseconds(5),
                content: Message.textContent("rain"))),
        required: [.correlation, .status], texts: [.reason: 0...256]),
    FrameCase("cancel", .cancelRequest(CancelRequest(correlation: 1)), required: [.correlation]),
    FrameCase(
        "transient with content", .transient(Transient(.message(.text, Message.textContent("hm")), sender: ada)),
        required: [.kind, .content], texts: [.sender: name]),
    FrameCase(
        "message from a client",
        .message(
            Message(counter: 3, kind: .text, content: Message.textContent("hello"), timeToLive: .seconds(60))),
        required: [.counter, .kind, .content]),
    FrameCase(
        "message from the relay",
        .message(Message(counter: 3, kind: .text, content: Message.textContent("hello"), relay: stamp)),
        required: [.counter, .kind, .content, .offset, .acceptedAt, .sender, .device], texts: [.sender: name]),
]
