import MartletTestSupport
import MartletWire

/// A generator of random valid frames. Equal seeds give equal frames.
struct FrameGenerator {
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Returns a complete frame and its sender.
    mutating func frame() -> (from: Side, bytes: [UInt8]) {
        let sender: Side = flip() ? .client : .server
        let body = self.body(from: sender)
        let type = body.type
        var flags = FrameFlags([], priority: Priority(rawValue: UInt8(below(4))) ?? .low)
        let isReliable = type.rule?.isReliable == true
        if isReliable { flags.insert(.reliable) }
        if flip() { flags.insert(.ackNow) }
        var header = FrameHeader(type: type, timestamp: UInt32(truncatingIfNeeded: random.next()), flags: flags)
        if isReliable { header.sequence = UInt32(truncatingIfNeeded: random.next()) }
        if type.rule?.scope != .control { header.session = session(of: type, from: sender) }
        if flip() { header.version.minor = UInt8(below(256)) }
        return (sender, header.frame(body: body.encode().rawBytes))
    }

    private mutating func session(of type: FrameType, from sender: Side) -> SessionID {
        let half = UInt16(below(0x7FFF))
        if type == .open { return SessionID(rawValue: sender == .client ? half * 2 + 1 : half * 2 + 2) }
        return SessionID(rawValue: half + 1)
    }

    private mutating func body(from sender: Side) -> Frame {
        switch below(sender == .client ? 20 : 23) {
        case 0...3: .message(message(from: sender))
        case 4: .transient(transient())
        case 5: .ack(ack())
        case 6: .receipt(receipt())
        case 20: .gap(gap())
        case 21: .update(update())
        default: listed(from: sender)
        }
    }

    /// Returns a frame whose body is a list of fields. Hello and its answers are no frames of an open connection.
    private mutating func listed(from sender: Side) -> Frame {
        while true {
            let type = FrameType.listed[below(FrameType.listed.count)]
            guard let rule = type.rule, !rule.isHandshake || type == .auth, sender == .server || !rule.isServerOnly,
                let frame = Frame(listed: type, from: &self)
            else { continue }
            return frame
        }
    }

    private mutating func message(from sender: Side) -> Message {
        let isText = flip()
        let kind = isText ? ContentKind.text : ContentKind(rawValue: UInt16(0x1002 + below(0xE000)))
        let content = isText ? Message.textContent("a" + text(below: 60)) : tree(depth: 0)
        let stamp = RelayStamp(offset: positive(), acceptedAt: number(), sender: name(), device: device())
        return Message(
            counter: positive(), kind: kind, content: content, timeToLive: maybe { .milliseconds($0.word()) },
            relay: sender == .server ? stamp : nil)
    }

    private mutating func transient() -> Transient {
        let sender: AccountName? = maybe { $0.name() }
        return switch below(3) {
        case 0: Transient(.typing(flip()), sender: sender)
        case 1: Transient(.presence(Transient.Presence(rawValue: UInt8(below(3))) ?? .left), sender: sender)
        default: Transient(.message(ContentKind(rawValue: 0xF000), tree(depth: 0)), sender: sender)
        }
    }

    private mutating func ack() -> Ack {
        let sessions = (0..<below(4)).map { _ in
            var edge = number() >> 8
            let cumulative = edge
            let ranges = (0..<below(4)).map { _ in
                let first = edge + 2 + UInt64(below(5))
                edge = first + UInt64(below(5))
                return first...edge
            }
            return SessionAck(
                session: SessionID(rawValue: UInt16(below(0x1_0000))), cumulative: cumulative, creditLimit: number(),
                ranges: ranges)
        }
        return Ack(echo: maybe { $0.echo() }, linkCredit: number(), sessions: sessions)
    }

    private mutating func receipt() -> Receipt {
        if flip() {
            return .refused(
                Receipt.Refusal(counter: positive(), code: code(), reason: maybe { $0.text(below: 40) }))
        }
        let mark: Receipt.Mark = flip() ? .delivered : .read
        return .progress(
            Receipt.Progress(mark, upTo: number(), sender: maybe { $0.name() }, device: maybe { $0.device() }))
    }

    private mutating func update() -> RoomUpdate {
        guard flip() else { return RoomUpdate(nil) }
        return RoomUpdate(
            RoomEntry(
                room: name(), membership: RoomMembershipState(rawValue: UInt8(below(3)))!, inviter: maybe { $0.name() },
                changedAt: maybe { $0.number() }, log: maybe { LogID(rawValue: $0.number()) }, lastOffset: number(),
                firstOffset: number(), message: maybe { [UInt8]($0.text(below: 40).utf8) }, isShortened: flip(),
                delivered: number(), read: number(), unreadCount: word()))
    }

    private mutating func gap() -> Gap {
        let first = 1 + number() >> 1
        return Gap(offsets: first...(first + number() >> 2))
    }

    /// Returns the TLVs of a content, some of them nested.
    private mutating func tree(depth: Int) -> [UInt8] {
        var writer = TLVWriter()
        for _ in 0..<below(4) {
            if depth < 3, below(4) == 0 {
                writer.append(Tag(rawValue: UInt16(0x0100 + below(0x100))), bytes: tree(depth: depth + 1))
            } else {
                writer.append(Tag(rawValue: UInt16(below(0x1_0000)) & 0xFEFF), bytes: bytes())
            }
        }
        return writer.bytes
    }

    // MARK: Parts

    private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
    private mutating func word() -> UInt32 { UInt32(truncatingIfNeeded: number()) }
    private mutating func positive() -> UInt64 { max(number(), 1) }
    private mutating func device() -> DeviceID { DeviceID(rawValue: number()) }
    private mutating func code() -> ErrorCode { ErrorCode(rawValue: UInt16(below(0x1_0000))) }

    /// Returns text without control characters, of fewer than `bound` characters.
    private mutating func text(below bound: Int) -> String {
        var text = ""
        for _ in 0..<below(bound) {
            let wide: Unicode.Scalar? = Unicode.Scalar(UInt32(0xA0 + below(0x1_0F00)))
            text.unicodeScalars.append(flip() ? Unicode.Scalar(UInt8(0x20 + below(0x5F))) : wide ?? "?")
        }
        return text
    }

    /// Returns a small, large or extreme number.
    private mutating func number() -> UInt64 {
        switch below(8) {
        case 0: 0
        case 1: .max
        case let bits: random.next() >> UInt64(8 * (bits - 1))
        }
    }
}

extension FrameGenerator: FieldSource {
    mutating func flip() -> Bool { random.next() & 1 == 0 }

    /// Returns a small, large or extreme number within bounds.
    mutating func number(_ bounds: ClosedRange<UInt64>) -> UInt64 {
        let number = number()
        if bounds.contains(number) { return number }
        if number == .max { return bounds.upperBound }
        let count = bounds.upperBound - bounds.lowerBound + 1
        return bounds.lowerBound + number % count
    }

    mutating func list<Value>(_ counts: ClosedRange<Int>, _ make: (inout FrameGenerator) -> Value) -> [Value] {
        (0..<counts.lowerBound + below(min(counts.count, 5))).map { _ in make(&self) }
    }

    mutating func text(_ byteCounts: ClosedRange<Int>) -> String {
        while true {
            let text = String(repeating: "h", count: byteCounts.lowerBound) + text(below: 40)
            if text.utf8.count <= byteCounts.upperBound { return text }
        }
    }

    mutating func bytes() -> [UInt8] { (0..<below(24)).map { _ in UInt8(below(256)) } }
    mutating func content() -> [UInt8] { tree(depth: 0) }
    mutating func duration(per unit: Duration) -> Duration { unit * Int(word()) }
    mutating func echo() -> Echo { Echo(timestamp: word(), delay: .microseconds(word())) }
    mutating func credential() -> Credential { Credential(bytes())! }
    mutating func limits() -> Limits { Limits(maxSessions: 1 + below(0xFFFF)) }

    mutating func resumePoint() -> ResumePoint {
        let position = SessionPosition(session: SessionID(rawValue: UInt16(1 + below(0xFFFF))), received: number())
        return ResumePoint(
            link: LinkID(rawValue: number()), token: ResumeToken(number(), number(), number(), number()),
            positions: flip() ? [position] : [])
    }

    mutating func acceptedRun() -> AcceptedRun {
        AcceptedRun(firstCounter: 1 + number() >> 1, count: UInt32(1 + below(1000)), firstOffset: 1 + number() >> 1)
    }

    mutating func name<Name: WireName>() -> Name {
        // Some texts are not valid names (W-31).
        while true {
            if let name = Name("n" + text(below: 14)) { return name }
        }
    }
}
