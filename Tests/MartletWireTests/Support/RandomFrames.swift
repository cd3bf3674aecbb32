import MartletTestSupport
import MartletWire

extension SeededRandom {
    mutating func chance() -> Bool { next() & 1 == 0 }

    mutating func some<Value>(_ counts: ClosedRange<Int>, _ make: (inout SeededRandom) -> Value) -> [Value] {
        (0..<Int.random(in: counts, using: &self)).map { _ in make(&self) }
    }

    /// Returns a number with a random number of bits.
    mutating func number() -> UInt64 { next() >> UInt64.random(in: 0...63, using: &self) }

    mutating func positive() -> UInt64 { max(1, number()) }

    mutating func short() -> UInt16 { UInt16(truncatingIfNeeded: number()) }

    mutating func long() -> UInt32 { UInt32(truncatingIfNeeded: number()) }

    /// Returns text within bounds of bytes, with one to four bytes for each scalar.
    mutating func text(_ byteCounts: ClosedRange<Int>) -> String {
        let wanted = Int.random(in: byteCounts, using: &self)
        var text = ""
        while let next = ["a", "é", "語", "🐦"].randomElement(using: &self), text.utf8.count + next.utf8.count <= wanted {
            text += next
        }
        return text.isEmpty && byteCounts.lowerBound > 0 ? "x" : text
    }

    mutating func account() -> AccountName { AccountName(text(1...128))! }

    mutating func session() -> SessionID { SessionID(rawValue: short()) }

    mutating func code() -> ErrorCode { ErrorCode(rawValue: short()) }

    mutating func device() -> DeviceID { DeviceID(rawValue: number()) }

    mutating func token() -> ResumeToken { ResumeToken(next(), next(), next(), next()) }

    mutating func reason() -> String { text(0...256) }

    mutating func positions() -> [SessionPosition] {
        Set(some(0...20) { $0.session() }).map { SessionPosition(session: $0, received: number()) }
    }

    mutating func sessionAck() -> SessionAck {
        let cumulative = next() >> 8
        var highest = cumulative + 1
        let ranges = some(0...(chance() ? 0 : 32)) { random in
            let first = highest + UInt64.random(in: 1...1000, using: &random)
            highest = first + UInt64.random(in: 0...1000, using: &random)
            return first...highest
        }
        return SessionAck(session: session(), cumulative: cumulative, creditLimit: number(), ranges: ranges)
    }

    mutating func fields(depth: Int) -> [Field] {
        some(0...4) { random in
            if depth > 0, random.chance() { return Field(.unknownContainer, holding: random.fields(depth: depth - 1)) }
            return Field(.unknown, random.some(0...20) { UInt8.random(in: 0...255, using: &$0) })
        }
    }

    mutating func kindAndContent() -> (ContentKind, [UInt8]) {
        chance() ? (.text, Message.textContent(text(1...300))) : (ContentKind(rawValue: short() | 0x8000), content())
    }

    mutating func receipt() -> Receipt {
        if chance() { return .refused(.init(counter: positive(), code: code(), reason: maybe { $0.reason() })) }
        let mark = chance() ? Receipt.Mark.delivered : .read
        return .progress(
            .init(mark, upTo: number(), sender: maybe { $0.account() }, device: maybe { $0.device() }))
    }

    mutating func transient() -> Transient {
        let (kind, content) = kindAndContent()
        let said: [Transient.Content] = [
            .typing(chance()), .presence(.allCases.randomElement(using: &self)!), .message(kind, content),
        ]
        return Transient(said.randomElement(using: &self)!, sender: maybe { $0.account() })
    }

    mutating func message() -> Message {
        let (kind, content) = kindAndContent()
        return Message(
            counter: positive(), kind: kind, content: content, timeToLive: maybe { .milliseconds($0.long()) },
            relay: maybe { random in
                RelayStamp(
                    offset: random.positive(), acceptedAt: random.number(), sender: random.account(),
                    device: random.device())
            })
    }

    mutating func welcome() -> Welcome {
        Welcome(
            version: WireVersion(rawValue: short()), features: Features(rawValue: number()), limits: limits(),
            account: account(),
            link: LinkID(rawValue: number()), resumeToken: token(), epoch: Epoch(rawValue: long()),
            resumeLifetime: .seconds(long()), heartbeatInterval: maybe { .milliseconds($0.long()) },
            reconnectSpread: maybe { .milliseconds($0.long()) },
            credential: maybe { $0.credential() }, credentialLifetime: maybe { .milliseconds($0.long()) },
            resumed: maybe { $0.positions() })
    }

    private mutating func roomEntry() -> RoomEntry {
        RoomEntry(
            room: RoomName(text(1...128))!, membership: chance() ? .joined : .invited, inviter: maybe { $0.account() },
            changedAt: maybe { $0.number() }, log: maybe { LogID(rawValue: $0.number()) }, lastOffset: number(),
            firstOffset: number(), message: maybe { $0.message().encode() }, isShortened: chance(), delivered: number(),
            read: number(), unreadCount: long())
    }

    /// Returns a random frame of a registered type.
    mutating func frame(_ type: FrameType) -> Frame? {
        switch type {
        case .data: .message(message())
        case .transient: .transient(transient())
        case .ack:
            .ack(Ack(echo: maybe { $0.echo() }, linkCredit: number(), sessions: some(0...30) { $0.sessionAck() }))
        case .receipt: .receipt(receipt())
        case .gap:
            .gap(Gap(offsets: positive()...UInt64.max))
        case .welcome: .welcome(welcome())
        case .update: .update(RoomUpdate(maybe { $0.roomEntry() }))
        default: Frame(listed: type, from: &self)
        }
    }
}

extension SeededRandom: FieldSource {
    mutating func flip() -> Bool { chance() }

    /// Returns a number with a random number of bits, or a bound of it.
    mutating func number(_ bounds: ClosedRange<UInt64>) -> UInt64 {
        min(max(number(), bounds.lowerBound), bounds.upperBound)
    }

    mutating func list<Value>(_ counts: ClosedRange<Int>, _ make: (inout SeededRandom) -> Value) -> [Value] {
        some(counts.clamped(to: 0...30), make)
    }

    /// Returns a name of characters that W-31 permits.
    mutating func name<Name: WireName>() -> Name { Name(text(1...Name.maxByteCount))! }

    mutating func duration(per unit: Duration) -> Duration { unit * Int(long()) }

    mutating func bytes() -> [UInt8] { some(0...20) { UInt8.random(in: 0...255, using: &$0) } }

    mutating func content() -> [UInt8] { MartletWireTests.bytes(of: fields(depth: 6)) }

    mutating func echo() -> Echo { Echo(timestamp: long(), delay: .microseconds(long())) }

    mutating func credential() -> Credential {
        Credential(some(0...4096) { UInt8.random(in: 0...255, using: &$0) })!
    }

    mutating func limits() -> Limits {
        Limits(
            maxBodyByteCount: .random(in: 17_408...FrameHeader.largestBodyByteCount, using: &self),
            maxMessageByteCount: .random(in: 16_384...Int(UInt32.max), using: &self),
            linkWindow: .random(in: 17_408...Int(UInt32.max), using: &self),
            sessionWindow: .random(in: 17_408...Int(UInt32.max), using: &self),
            maxSessions: .random(in: 1...Int(UInt16.max), using: &self))
    }

    mutating func resumePoint() -> ResumePoint {
        ResumePoint(link: LinkID(rawValue: number()), token: token(), positions: positions())
    }

    mutating func acceptedRun() -> AcceptedRun {
        AcceptedRun(firstCounter: (next() >> 2) + 1, count: max(1, long()), firstOffset: (next() >> 2) + 1)
    }
}
