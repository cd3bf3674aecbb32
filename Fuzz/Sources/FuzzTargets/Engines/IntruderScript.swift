import MartletTestSupport
import MartletWire

@testable import MartletLink
@testable import MartletSimulator

/// The steps of a faulty peer, read from a program.
enum IntruderScript {
    /// The accounts of the correct pair, which the authenticator denies to faulty peers.
    static let honest = [AccountName("alice"), AccountName("bob")]

    /// One step.
    static func step(_ intruder: Intruder, _ program: inout ByteProgram) {
        switch program.byte() % 20 {
        case 0: intruder.connect(program.bool() ? .unreliable : .reliable)
        case 1, 2: intruder.send(hello(intruder, &program))
        case 3: intruder.send(Damage.mutate(hello(intruder, &program), &program))
        case 4: intruder.send(program.string())
        case 5: intruder.send(raw(&program))
        case 6: intruder.finish()
        case 7: intruder.cut()
        case 8: intruder.isReading.toggle()
        case 9: for piece in Damage.pieces(of: frame(intruder, &program), &program) { intruder.send(piece) }
        case 10: intruder.send(open(intruder, &program))
        case 11, 12: intruder.send(message(intruder, &program))
        case 13: intruder.send(acknowledgement(intruder, &program))
        case 14: intruder.send(Damage.mutate(frame(intruder, &program), &program))
        case 15:
            // A burst of several frames.
            intruder.send((0...program.below(4)).flatMap { _ in frame(intruder, &program) })
        case 16:
            let again = frame(intruder, &program)
            for _ in 0...program.below(160) { intruder.send(again) }
        default: intruder.send(frame(intruder, &program))
        }
    }

    /// One step of a peer that usually tries to authenticate.
    static func greet(_ intruder: Intruder, _ program: inout ByteProgram) {
        switch program.byte() % 16 {
        case 0, 1: intruder.connect(program.bool() ? .unreliable : .reliable)
        case 2, 3, 4: intruder.send(hello(intruder, &program))
        case 5, 6: intruder.send(Damage.mutate(hello(intruder, &program), &program))
        case 7: for piece in Damage.pieces(of: hello(intruder, &program), &program) { intruder.send(piece) }
        case 8: intruder.send(hello(intruder, &program) + early(intruder, &program))
        case 9: intruder.cut()
        case 10: intruder.send(open(intruder, &program))
        default: step(intruder, &program)
        }
    }

    /// Early frames behind the hello.
    private static func early(_ intruder: Intruder, _ program: inout ByteProgram) -> [UInt8] {
        open(intruder, &program) + (0...program.below(4)).flatMap { _ in message(intruder, &program) }
    }

    // MARK: Frames

    private static func hello(_ intruder: Intruder, _ program: inout ByteProgram) -> [UInt8] {
        guard program.byte() < 0xE0 else {
            return intruder.frame(.hello, Hello(from: &program).encode(), on: .control)
        }
        var resume: ResumePoint?
        if let resumption = intruder.resumption, program.bool() {
            var link = resumption.link
            var token = resumption.token
            var positions = intruder.received.sorted { $0.key < $1.key }.map {
                SessionPosition(session: $0.key, received: $0.value)
            }
            switch program.byte() % 8 {
            case 0: link.rawValue ^= 1
            case 1: token = ResumeToken(1, 2, 3, 4)
            case 2: positions = FrameMaker.positions(&program)
            case 3: positions = positions.map { SessionPosition(session: $0.session, received: 0) }
            default: break
            }
            resume = ResumePoint(link: link, token: token, positions: positions)
        }
        let limits = program.bool() ? Limits.minimum : Limits()
        let hello = Hello(
            features: program.bool() ? .supported : Features(rawValue: UInt64(program.byte())), limits: limits,
            device: DeviceID(rawValue: UInt64(100 + program.below(3))), account: program.pick(accounts),
            mechanism: program.byte() % 4 == 0 ? MechanismName("X") : nil, resume: resume)
        return intruder.frame(.hello, hello.encode(), on: .control)
    }

    private static let accounts = ["mallory", "eve", "trudy", "alice"].map { AccountName($0)! }

    private static func open(_ intruder: Intruder, _ program: inout ByteProgram) -> [UInt8] {
        let session = SessionID(rawValue: UInt16(1 + 2 * program.below(8)))
        let open = Open(
            room: RoomName(["lobby", "relayWorld", "cellar"][program.below(3)])!,
            kind: program.pick(SessionKind.allCases),
            cursor: program.number(), tail: program.bool() ? 3 : nil, noLocal: program.bool())
        return intruder.frame(.open, open.encode(), on: session)
    }

    private static func message(_ intruder: Intruder, _ program: inout ByteProgram) -> [UInt8] {
        let size = program.below(8) == 0 ? program.below(60_000) : program.below(200)
        let content = Message.textContent(String(repeating: "x", count: 1 + size))
        let body = Message.encodeClient(counter: max(program.number(), 1), kind: .text, content: content)
        return intruder.frame(.data, body, on: SessionID(rawValue: UInt16(1 + 2 * program.below(4))))
    }

    private static func acknowledgement(_ intruder: Intruder, _ program: inout ByteProgram) -> [UInt8] {
        let credit = program.bool() ? UInt64(1) << 40 : program.number()
        let sessions = intruder.received.sorted { $0.key < $1.key }.prefix(Ack.maxSessionCount).map {
            SessionAck(session: $0.key, cumulative: $0.value, creditLimit: credit)
        }
        return intruder.frame(.ack, Ack(linkCredit: credit, sessions: Array(sessions)).encode(), on: .control)
    }

    /// A well-formed frame of any type on any session.
    private static func frame(_ intruder: Intruder, _ program: inout ByteProgram) -> [UInt8] {
        let session = FrameMaker.session(&program)
        let frame = FrameMaker.frame(&program)
        return intruder.frame(frame.type, frame.encode(), on: session)
    }

    /// An arbitrary header with an arbitrary body.
    private static func raw(_ program: inout ByteProgram) -> [UInt8] {
        var header = FrameMaker.header(&program)
        header.type = program.pick(FrameType.known)
        header.session = FrameMaker.session(&program)
        return header.frame(body: program.string().rawBytes)
    }
}
