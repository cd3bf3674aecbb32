import MartletTestSupport
import MartletWire

/// Makes frames of all types from a program, with all fields of their initializers.
enum FrameMaker {
    /// A frame of any type.
    static func frame(_ program: inout ByteProgram) -> Frame {
        frame(of: program.pick(FrameType.known), &program)
    }

    /// A frame of a type.
    static func frame(of type: FrameType, _ program: inout ByteProgram) -> Frame {
        switch type {
        case .data: .message(message(&program))
        case .transient: .transient(transient(&program))
        case .ack: .ack(ack(&program))
        case .receipt: .receipt(receipt(&program))
        case .gap: .gap(gap(&program))
        case .welcome: .welcome(welcome(&program))
        case .update: .update(update(&program))
        default: Frame(listed: type, from: &program) ?? .unknown(FrameType(rawValue: 0x7ABC))
        }
    }

    /// A header with all fields that a sender may choose.
    static func header(_ program: inout ByteProgram) -> FrameHeader {
        FrameHeader(
            version: WireVersion(major: WireVersion.current.major, minor: program.byte()),
            type: FrameType(rawValue: program.integer()), sequence: program.integer(), timestamp: program.integer(),
            flags: FrameFlags(rawValue: program.byte()).subtracting(.reserved),
            compression: program.bool() ? .zlib : .none, session: SessionID(rawValue: program.integer()),
            bodyByteCount: program.integer(), checksum: program.integer())
    }

    // MARK: Messages

    static func message(_ program: inout ByteProgram) -> Message {
        let kind = kind(&program)
        return Message(
            counter: max(program.number(), 1), kind: kind, content: content(of: kind, &program),
            timeToLive: optional(&program) { $0.duration() }, relay: optional(&program, stamp))
    }

    private static func stamp(_ program: inout ByteProgram) -> RelayStamp {
        RelayStamp(
            offset: max(program.number(), 1), acceptedAt: program.number(), sender: program.name(),
            device: DeviceID(rawValue: program.number()))
    }

    static func transient(_ program: inout ByteProgram) -> Transient {
        let sender: AccountName? = optional(&program) { $0.name() }
        switch program.byte() % 3 {
        case 0: return Transient(.typing(program.bool()), sender: sender)
        case 1: return Transient(.presence(program.pick(Transient.Presence.allCases)), sender: sender)
        default:
            let kind = kind(&program)
            return Transient(.message(kind, content(of: kind, &program)), sender: sender)
        }
    }

    private static func kind(_ program: inout ByteProgram) -> ContentKind {
        program.pick([.text, .image, ContentKind(rawValue: 0xF000), ContentKind(rawValue: program.integer())])
    }

    /// A content that satisfies the rules of its kind.
    static func content(of kind: ContentKind, _ program: inout ByteProgram) -> [UInt8] {
        var writer = TLVWriter()
        writer.append(nodes(&program, depth: 1).filter { kind != .text || $0.tag != .text })
        if kind == .text {
            let text = program.text(maxByteCount: 255)
            writer.append(.text, string: text.isEmpty ? "?" : text)
        }
        return writer.bytes
    }

    /// Unknown fields, nested up to the maximum depth.
    private static func nodes(_ program: inout ByteProgram, depth: Int) -> [TLVNode] {
        list(0...6, &program) { program in
            let tag = Tag(rawValue: program.integer())
            guard tag.isContainer else { return TLVNode(tag, bytes: program.string()) }
            return TLVNode(tag, children: depth + 1 < TLVLimits.maxDepth ? nodes(&program, depth: depth + 1) : [])
        }
    }

    static func receipt(_ program: inout ByteProgram) -> Receipt {
        guard program.bool() else {
            return .progress(
                Receipt.Progress(
                    program.pick(Receipt.Mark.allCases), upTo: program.number(),
                    sender: optional(&program) { $0.name() },
                    device: optional(&program) { DeviceID(rawValue: $0.number()) }))
        }
        return .refused(
            Receipt.Refusal(
                counter: max(program.number(), 1), code: code(&program), reason: optional(&program, reason)))
    }

    private static func gap(_ program: inout ByteProgram) -> Gap {
        let first = max(program.number(), 1)
        return Gap(offsets: first...max(first, program.number()))
    }

    // MARK: Handshake

    static func welcome(_ program: inout ByteProgram) -> Welcome {
        Welcome(
            version: WireVersion(rawValue: program.integer()), features: Features(rawValue: program.number()),
            limits: program.limits(), account: program.name(), link: LinkID(rawValue: program.number()),
            resumeToken: program.token(), epoch: Epoch(rawValue: program.integer()),
            resumeLifetime: program.duration(), heartbeatInterval: optional(&program) { $0.duration() },
            credential: optional(&program) { $0.credential() },
            credentialLifetime: optional(&program) { $0.duration() },
            resumed: optional(&program, positions))
    }

    static func positions(_ program: inout ByteProgram) -> [SessionPosition] {
        var seen: Set<SessionID> = []
        return list(0...256, &program) {
            SessionPosition(session: session(&$0), received: $0.number())
        }.filter { seen.insert($0.session).inserted }
    }

    // MARK: Sessions and links

    static func ack(_ program: inout ByteProgram) -> Ack {
        Ack(
            echo: optional(&program) { $0.echo() }, linkCredit: program.number(),
            sessions: list(0...256, &program) { program in
                let session = session(&program)
                let cumulative = program.number()
                return SessionAck(
                    session: session, cumulative: cumulative, creditLimit: program.number(),
                    ranges: ranges(beyond: cumulative, &program))
            })
    }

    /// Ranges of an acknowledgement, of which the first is not adjacent to the cumulative sequence.
    private static func ranges(beyond cumulative: UInt64, _ program: inout ByteProgram) -> [ClosedRange<UInt64>] {
        var highest = cumulative.addingReportingOverflow(1)
        return list(0...32, &program) { program in
            let distance = 1 + program.number() / 4
            let first = highest.partialValue.addingReportingOverflow(distance)
            let last = first.partialValue.addingReportingOverflow(program.number() / 4)
            guard !highest.overflow, !first.overflow, !last.overflow else { return nil }
            highest = (last.partialValue, false)
            return first.partialValue...last.partialValue
        }.compactMap(\.self)
    }

    // MARK: Parts

    /// Usually one of the first sessions of a client.
    static func session(_ program: inout ByteProgram) -> SessionID {
        let number = program.byte()
        return SessionID(rawValue: number < 0xF0 ? UInt16(number % 12) : program.integer())
    }

    private static func code(_ program: inout ByteProgram) -> ErrorCode {
        ErrorCode(rawValue: program.integer())
    }

    private static func reason(_ program: inout ByteProgram) -> String {
        program.text(maxByteCount: 255)
    }

    static func optional<Value>(_ program: inout ByteProgram, _ make: (inout ByteProgram) -> Value) -> Value? {
        program.maybe(make)
    }

    /// Usually a few elements. A program at its end gives the minimum, unless it has requested the maximum.
    static func list<Element>(
        _ counts: ClosedRange<Int>, _ program: inout ByteProgram, _ make: (inout ByteProgram) -> Element
    ) -> [Element] {
        let wish = program.byte()
        let isFull = wish == 0xFF
        let count = isFull ? counts.upperBound : min(counts.lowerBound + Int(wish) % 5, counts.upperBound)
        return (0..<count).compactMap {
            !isFull && $0 >= counts.lowerBound && program.isAtEnd ? nil : make(&program)
        }
    }

    private static func update(_ program: inout ByteProgram) -> RoomUpdate {
        guard program.bool() else { return RoomUpdate(nil) }
        return RoomUpdate(
            RoomEntry(
                room: program.name(), membership: program.choice(), inviter: optional(&program) { $0.name() },
                changedAt: optional(&program) { $0.number() }, lastOffset: program.number(),
                firstOffset: program.number(), message: optional(&program) { $0.string() },
                isShortened: program.bool(), unreadCount: program.integer()))
    }
}

extension ByteProgram: FieldSource {
    mutating func number(_ bounds: ClosedRange<UInt64>) -> UInt64 {
        min(max(number(), bounds.lowerBound), bounds.upperBound)
    }

    mutating func text(_ byteCounts: ClosedRange<Int>) -> String {
        let text = text(maxByteCount: byteCounts.upperBound)
        return text.utf8.count < byteCounts.lowerBound ? "?" : text
    }

    mutating func name<Name: WireName>() -> Name { name(Name.self) }
    mutating func duration(per unit: Duration) -> Duration { duration() }
    mutating func flip() -> Bool { bool() }
    mutating func bytes() -> [UInt8] { string() }
    mutating func content() -> [UInt8] { FrameMaker.content(of: ContentKind(rawValue: 0), &self) }
    mutating func maybe<Value>(_ make: (inout ByteProgram) -> Value) -> Value? { bool() ? make(&self) : nil }

    mutating func list<Value>(_ counts: ClosedRange<Int>, _ make: (inout ByteProgram) -> Value) -> [Value] {
        FrameMaker.list(counts, &self, make)
    }

    mutating func credential() -> Credential { Credential(string(unit: 16))! }
    mutating func echo() -> Echo { Echo(timestamp: integer(), delay: duration()) }
    mutating func token() -> ResumeToken { ResumeToken(number(), number(), number(), number()) }

    mutating func resumePoint() -> ResumePoint {
        ResumePoint(link: LinkID(rawValue: number()), token: token(), positions: FrameMaker.positions(&self))
    }

    mutating func limits() -> Limits {
        let least = Limits.minimum
        return Limits(
            maxBodyByteCount: limit(from: least.maxBodyByteCount, to: FrameHeader.largestBodyByteCount),
            maxMessageByteCount: limit(from: least.maxMessageByteCount, to: Int(UInt32.max)),
            linkWindow: limit(from: least.linkWindow, to: Int(UInt32.max)),
            sessionWindow: limit(from: least.sessionWindow, to: Int(UInt32.max)),
            maxSessions: limit(from: 1, to: Int(UInt16.max)))
    }

    private mutating func limit(from least: Int, to most: Int) -> Int {
        least + Int(min(number() << 8, UInt64(most - least)))
    }

    mutating func acceptedRun() -> AcceptedRun {
        let offset = number()
        let counter = max(number(), 1)
        let room = min(UInt64.max - counter, UInt64.max - offset, UInt64(UInt32.max) - 1)
        let count = offset == 0 ? 1 : 1 + UInt32(min(number(), room))
        return AcceptedRun(firstCounter: counter, count: count, firstOffset: offset)
    }
}
