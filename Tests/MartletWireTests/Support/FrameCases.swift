import MartletTestSupport
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

    /// A frame of a type whose body is a list of fields.
    init(
        _ type: FrameType, required: [Tag], repeats: [Tag: Int] = [:], texts: [Tag: ClosedRange<Int>] = [:],
        opaque: [Tag] = []
    ) {
        var source = FullSource()
        self.init(
            type.description, Frame(listed: type, from: &source)!, required: required, repeats: repeats, texts: texts,
            opaque: opaque)
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

private let positions = [
    SessionPosition(session: SessionID(rawValue: 1), received: 9),
    SessionPosition(session: SessionID(rawValue: 3), received: .max),
]
private let name = 1...128

let frameCases: [FrameCase] = listedFrameCases + unlistedFrameCases

/// The types whose body is written by hand.
private let unlistedFrameCases = [
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
    FrameCase("gap", .gap(Gap(offsets: 3...9)), required: [.first, .upTo]),
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

/// A source of fields of which none is missing and no two are equal.
private struct FullSource: FieldSource {
    private var last: UInt64 = 0

    mutating func number(_ bounds: ClosedRange<UInt64>) -> UInt64 {
        last += 1
        return min(bounds.lowerBound + last, bounds.upperBound)
    }

    mutating func flip() -> Bool { true }

    mutating func list<Value>(_ counts: ClosedRange<Int>, _ make: (inout FullSource) -> Value) -> [Value] {
        [make(&self), make(&self)]
    }

    mutating func text(_ byteCounts: ClosedRange<Int>) -> String { "text \(number(1...99))" }
    mutating func name<Name: WireName>() -> Name { Name("name \(number(1...99))")! }
    mutating func duration(per unit: Duration) -> Duration { unit * Int(number(1...99)) }
    mutating func bytes() -> [UInt8] { [UInt8(number(1...99))] }
    mutating func content() -> [UInt8] { Message.textContent(text(1...9)) }
    mutating func credential() -> Credential { Credential(bytes())! }
    mutating func echo() -> Echo { Echo(timestamp: number(1...99), delay: duration(per: .microseconds(1))) }
    mutating func limits() -> Limits { .minimum }
    mutating func resumePoint() -> ResumePoint {
        ResumePoint(link: LinkID(rawValue: number(1...99)), token: token, positions: positions)
    }

    mutating func acceptedRun() -> AcceptedRun {
        AcceptedRun(firstCounter: number(1...99), count: number(1...99), firstOffset: number(1...99))
    }
}
