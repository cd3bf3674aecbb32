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
        case .accepted: .accepted(Accepted(runs: list(1...256, &program, run)))
        case .gap: .gap(gap(&program))
        case .ping: .ping(Ping(nonce: program.number()))
        case .pong: .pong(Pong(nonce: program.number(), echo: echo(&program)))
        case .hello: .hello(hello(&program))
        case .welcome: .welcome(welcome(&program))
        case .reject: .reject(Reject(notice(&program)))
        case .goaway: .goAway(GoAway(notice(&program)))
        case .auth: .auth(auth(&program))
        case .open: .open(open(&program))
        case .opened:
            .opened(
                Opened(
                    head: program.number(), first: program.number(),
                    log: optional(&program) { LogID(rawValue: $0.number()) },
                    members: list(0...256, &program) { $0.name() }))
        case .close: .close(Close(code: optional(&program, code), reason: optional(&program, reason)))
        case .reset: .reset(reset(&program))
        case .suspend: .suspend(Suspend())
        case .resume: .resume(Resume(cursor: optional(&program) { $0.number() }))
        case .request: .request(request(&program))
        case .response: .response(response(&program))
        case .cancel: .cancelRequest(CancelRequest(correlation: program.number()))
        default: .unknown(FrameType(rawValue: 0x7ABC))
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

    private static func run(_ program: inout ByteProgram) -> AcceptedRun {
        let offset = program.number()
        let counter = max(program.number(), 1)
        let room = min(UInt64.max - counter, UInt64.max - offset, UInt64(UInt32.max) - 1)
        let count = offset == 0 ? 1 : 1 + UInt32(min(program.number(), room))
        return AcceptedRun(firstCounter: counter, count: count, firstOffset: offset)
    }

    private static func gap(_ program: inout ByteProgram) -> Gap {
        let first = max(program.number(), 1)
        return Gap(offsets: first...max(first, program.number()))
    }

    // MARK: Handshake

    static func hello(_ program: inout ByteProgram) -> Hello {
        Hello(
            spokenVersions: list(1...16, &program) { WireVersion(packed: $0.integer()) },
            features: Features(rawValue: program.number()), limits: limits(&program),
            device: DeviceID(rawValue: program.number()), account: program.name(),
            mechanism: optional(&program) { $0.name() }, credential: optional(&program, credential),
            agent: optional(&program) { $0.text(maxByteCount: 200) },
            resume: optional(&program) {
                ResumePoint(link: LinkID(rawValue: $0.number()), token: token(&$0), positions: positions(&$0))
            })
    }

    static func welcome(_ program: inout ByteProgram) -> Welcome {
        Welcome(
            version: WireVersion(packed: program.integer()), features: Features(rawValue: program.number()),
            limits: limits(&program), account: program.name(), link: LinkID(rawValue: program.number()),
            resumeToken: token(&program), epoch: Epoch(rawValue: program.integer()),
            resumeLifetime: program.duration(), heartbeatInterval: optional(&program) { $0.duration() },
            credential: optional(&program, credential), credentialLifetime: optional(&program) { $0.duration() },
            resumed: optional(&program, positions))
    }

    private static func auth(_ program: inout ByteProgram) -> Auth {
        Auth(
            credential: optional(&program, credential), credentialLifetime: optional(&program) { $0.duration() })
    }

    private static func credential(_ program: inout ByteProgram) -> Credential {
        Credential(program.string(unit: 16))!
    }

    static func positions(_ program: inout ByteProgram) -> [SessionPosition] {
        var seen: Set<SessionID> = []
        return list(0...256, &program) {
            SessionPosition(session: session(&$0), received: $0.number())
        }.filter { seen.insert($0.session).inserted }
    }

    static func limits(_ program: inout ByteProgram) -> Limits {
        let least = Limits.minimum
        func more(_ limit: Int, _ most: Int) -> Int { limit + Int(min(program.number() << 8, UInt64(most - limit))) }
        return Limits(
            maxBodyByteCount: more(least.maxBodyByteCount, FrameHeader.largestBodyByteCount),
            maxMessageByteCount: more(least.maxMessageByteCount, Int(UInt32.max)),
            linkWindow: more(least.linkWindow, Int(UInt32.max)),
            sessionWindow: more(least.sessionWindow, Int(UInt32.max)), maxSessions: more(1, Int(UInt16.max)))
    }

    static func notice(_ program: inout ByteProgram) -> Notice {
        Notice(
            code: code(&program), reason: optional(&program, reason),
            retryAfter: optional(&program) { $0.duration() },
            redirect: optional(&program) {
                let text = $0.text(maxByteCount: Notice.maxRedirectByteCount)
                return text.isEmpty ? "martlet://b" : text
            }, spokenVersions: list(0...16, &program) { WireVersion(packed: $0.integer()) })
    }

    private static func token(_ program: inout ByteProgram) -> ResumeToken {
        ResumeToken(program.number(), program.number(), program.number(), program.number())
    }

    // MARK: Sessions and links

    static func open(_ program: inout ByteProgram) -> Open {
        Open(
            room: program.name(), kind: program.pick(SessionKind.allCases), cursor: program.number(),
            log: optional(&program) { LogID(rawValue: $0.number()) }, tail: optional(&program) { $0.integer() },
            noLocal: program.bool())
    }

    private static func reset(_ program: inout ByteProgram) -> Reset {
        let session = session(&program)
        return Reset(
            session: session == .control ? SessionID(rawValue: 1) : session, code: code(&program),
            reason: optional(&program, reason), creditUsed: optional(&program) { $0.number() })
    }

    static func ack(_ program: inout ByteProgram) -> Ack {
        Ack(
            echo: optional(&program, echo), linkCredit: program.number(),
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

    private static func echo(_ program: inout ByteProgram) -> Echo {
        Echo(timestamp: program.integer(), delay: program.duration())
    }

    static func request(_ program: inout ByteProgram) -> Request {
        Request(
            correlation: program.number(), method: program.name(), deadline: program.duration(),
            recipient: optional(&program) { $0.name() }, sender: optional(&program) { $0.name() },
            content: optional(&program) { content(of: ContentKind(rawValue: 0), &$0) })
    }

    static func response(_ program: inout ByteProgram) -> Response {
        Response(
            correlation: program.number(), status: code(&program), reason: optional(&program, reason),
            content: optional(&program) { content(of: ContentKind(rawValue: 0), &$0) })
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
        program.bool() ? make(&program) : nil
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
}
