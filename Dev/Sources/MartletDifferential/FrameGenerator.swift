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
        let type = Swift.type(of: body).type
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

    private mutating func body(from sender: Side) -> any FrameBody {
        switch below(sender == .client ? 20 : 23) {
        case 0...3: message(from: sender)
        case 4: transient()
        case 5: ack()
        case 6: receipt()
        case 7: Ping(nonce: number())
        case 8: Pong(nonce: number(), echo: echo(), reconnectSpread: maybe { .milliseconds($0.word()) })
        case 9: GoAway(notice())
        case 10:
            Open(
                room: name(), kind: kind(), cursor: number(), log: maybe { LogID(rawValue: $0.number()) },
                tail: maybe { $0.word() }, noLocal: flip())
        case 11: opened()
        case 12: Close(code: maybe { $0.code() }, reason: maybe { $0.text(below: 40) })
        case 13: reset()
        case 14: Suspend()
        case 15: Resume(cursor: maybe { $0.number() })
        case 16: request()
        case 17:
            Response(
                correlation: number(), status: code(), reason: maybe { $0.text(below: 40) },
                retryAfter: maybe { .milliseconds($0.word()) }, content: maybe { $0.tree(depth: 0) })
        case 18: CancelRequest(correlation: number())
        case 19:
            Auth(
                credential: maybe { Credential($0.text(below: 40)) }.flatMap { $0 },
                credentialLifetime: maybe { .milliseconds($0.word()) })
        case 20: accepted()
        case 21: update()
        default: gap()
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

    private mutating func notice() -> Notice {
        Notice(
            code: code(), reason: maybe { $0.text(below: 40) }, retryAfter: maybe { .milliseconds($0.word()) },
            redirect: maybe { "h" + $0.text(below: 20) },
            spokenVersions: (0..<below(4)).map { _ in WireVersion(packed: UInt16(below(0x1_0000))) })
    }

    private mutating func opened() -> Opened {
        Opened(
            head: number(), first: number(), log: maybe { LogID(rawValue: $0.number()) }, upTo: maybe { $0.number() },
            counter: maybe { max($0.number(), 1) }, members: (0..<below(5)).map { _ in name() })
    }

    private mutating func reset() -> Reset {
        Reset(
            session: SessionID(rawValue: UInt16(1 + below(0xFFFF))), code: code(),
            reason: maybe { $0.text(below: 40) }, retryAfter: maybe { .milliseconds($0.word()) },
            creditUsed: maybe { $0.number() })
    }

    private mutating func request() -> Request {
        Request(
            correlation: number(), method: name(), deadline: .milliseconds(word()), recipient: maybe { $0.name() },
            sender: maybe { $0.name() }, content: maybe { $0.tree(depth: 0) })
    }

    private mutating func accepted() -> Accepted {
        Accepted(
            runs: (0...below(3)).map { _ in
                AcceptedRun(
                    firstCounter: 1 + number() >> 1, count: UInt32(1 + below(1000)), firstOffset: 1 + number() >> 1)
            })
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
                let value = (0..<below(24)).map { _ in UInt8(below(256)) }
                writer.append(Tag(rawValue: UInt16(below(0x1_0000)) & 0xFEFF), bytes: value)
            }
        }
        return writer.bytes
    }

    // MARK: Parts

    private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
    private mutating func flip() -> Bool { random.next() & 1 == 0 }
    private mutating func word() -> UInt32 { UInt32(truncatingIfNeeded: number()) }
    private mutating func positive() -> UInt64 { max(number(), 1) }
    private mutating func device() -> DeviceID { DeviceID(rawValue: number()) }
    private mutating func code() -> ErrorCode { ErrorCode(rawValue: UInt16(below(0x1_0000))) }
    private mutating func kind() -> SessionKind { SessionKind(rawValue: UInt8(below(4))) ?? .chat }
    private mutating func echo() -> Echo { Echo(timestamp: word(), delay: .microseconds(word())) }

    private mutating func name<Name: WireName>() -> Name {
        // Some texts are not valid names (W-31).
        while true {
            if let name = Name("n" + text(below: 14)) { return name }
        }
    }

    /// Returns a small, large or extreme number.
    private mutating func number() -> UInt64 {
        switch below(8) {
        case 0: 0
        case 1: .max
        case let bits: random.next() >> UInt64(8 * (bits - 1))
        }
    }

    private mutating func maybe<Value>(_ make: (inout FrameGenerator) -> Value) -> Value? {
        flip() ? make(&self) : nil
    }

    /// Returns text without control characters, of fewer than `bound` characters.
    private mutating func text(below bound: Int) -> String {
        var text = ""
        for _ in 0..<below(bound) {
            let wide: Unicode.Scalar? = Unicode.Scalar(UInt32(0xA0 + below(0x1_0F00)))
            text.unicodeScalars.append(flip() ? Unicode.Scalar(UInt8(0x20 + below(0x5F))) : wide ?? "?")
        }
        return text
    }
}
