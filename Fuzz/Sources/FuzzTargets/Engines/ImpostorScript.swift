import MartletTestSupport
import MartletWire

@testable import Martlet
@testable import MartletLink

/// The steps of a faulty server and of the client's application, read from a program.
enum ImpostorScript {
    static func step(_ host: ClientHost, _ program: inout ByteProgram) {
        switch program.byte() % 24 {
        case 0: host.connect()
        case 1: host.refuse()
        case 2: host.cut()
        case 3, 4: host.receive(welcome(host, &program))
        case 5: host.receive(host.frame(.welcome, FrameMaker.welcome(&program).encode(), on: .control))
        case 6: host.receive(host.frame(.reject, Reject(notice(&program)).encode(), on: .control))
        case 7: host.receive(host.frame(.goaway, GoAway(notice(&program)).encode(), on: .control))
        case 8: host.receive(program.string())
        case 9: host.receive(Damage.mutate(welcome(host, &program), &program))
        case 10: host.receive(Damage.mutate(frame(host, &program), &program))
        case 11: for piece in Damage.pieces(of: frame(host, &program), &program) { host.receive(piece) }
        case 12: host.receive((0...program.below(6)).flatMap { _ in frame(host, &program) })
        case 13, 14: host.receive(acknowledgement(host, &program))
        case 15, 16: host.receive(delivery(host, &program))
        case 17: use(host, &program)
        case 18: say(host, &program)
        default: host.receive(frame(host, &program))
        }
    }

    // MARK: The server

    /// A valid welcome, except for the fields that the program changes.
    private static func welcome(_ host: ClientHost, _ program: inout ByteProgram) -> [UInt8] {
        let choice = program.byte()
        var resumed: [SessionPosition]?
        if (host.engine.client.connection.handshake.resumesLink) != (choice & 7 == 7) {
            resumed = host.sent.sorted { $0.key < $1.key }.map {
                SessionPosition(session: $0.key, received: choice & 8 == 0 ? $0.value : 0)
            }
            if choice & 0x30 == 0x30 { resumed = FrameMaker.positions(&program) }
        }
        let welcome = Welcome(
            features: choice & 0x40 == 0 ? .supported : [], limits: choice & 0x80 == 0 ? Limits() : Limits.minimum,
            account: AccountName("alice"), link: LinkID(rawValue: 1), resumeToken: ResumeToken(1, 2, 3, 4),
            epoch: Epoch(rawValue: 1), resumeLifetime: .seconds(300),
            heartbeatInterval: program.bool() ? program.duration() : nil,
            credential: host.usesMechanism ? ClientHost.message : nil,
            credentialLifetime: choice & 0x08 == 0 ? nil : .seconds(3), resumed: resumed)
        return host.frame(.welcome, welcome.encode(), on: .control)
    }

    private static func notice(_ program: inout ByteProgram) -> Notice {
        let codes: [ErrorCode] = [
            .resumeRejected, .draining, .unauthenticated, .replaced, .redirected, .serverBusy, .none, .staleEpoch,
        ]
        let choice = Int(program.byte())
        guard choice < 0xC0 else { return Notice(from: &program) }
        return Notice(
            code: codes[choice % codes.count], retryAfter: FrameMaker.optional(&program) { $0.duration() },
            redirect: choice & 0x20 == 0 ? nil : "martlet://elsewhere")
    }

    private static func acknowledgement(_ host: ClientHost, _ program: inout ByteProgram) -> [UInt8] {
        let credit = program.bool() ? UInt64(1) << 40 : program.number()
        let behind = UInt64(program.byte() & 3)
        let sessions = host.sent.sorted { $0.key < $1.key }.map { session, highest in
            SessionAck(session: session, cumulative: highest - min(behind, highest), creditLimit: credit)
        }
        return host.frame(.ack, Ack(linkCredit: credit, sessions: sessions).encode(), on: .control)
    }

    /// A relay's frames for a room: opened, a stamped message, accepted, a request.
    private static func delivery(_ host: ClientHost, _ program: inout ByteProgram) -> [UInt8] {
        let session = SessionID(rawValue: UInt16(1 + 2 * program.below(4)))
        switch program.byte() % 6 {
        case 0:
            let opened = Opened(head: program.number(), first: program.number(), members: [AccountName("eve")])
            return host.frame(.opened, opened.encode(), on: session)
        case 1:
            let count = UInt32(1 + program.below(8))
            let run = AcceptedRun(
                firstCounter: UInt64(1 + program.below(64)), count: count, firstOffset: UInt64(1 + program.below(200)))
            return host.frame(.accepted, Accepted(runs: [run]).encode(), on: session)
        case 2: return host.frame(.request, request(&program).encode(), on: session)
        case 3:
            let response = Response(correlation: UInt64(program.below(12)), status: .none)
            return host.frame(.response, response.encode(), on: session)
        case 4:
            let reset = Reset(session: session, code: program.bool() ? .serverBusy : .roomForbidden)
            return host.frame(.reset, reset.encode(), on: .control)
        default:
            let stamp = RelayStamp(
                offset: max(program.number(), 1), acceptedAt: 5, sender: AccountName("eve"),
                device: DeviceID(rawValue: 9))
            let content = Message.textContent(String(repeating: "y", count: 1 + program.below(2000)))
            let message = Message(counter: max(program.number(), 1), kind: .text, content: content, relay: stamp)
            return host.frame(.data, message.encode(), on: session)
        }
    }

    private static func request(_ program: inout ByteProgram) -> Request {
        Request(
            correlation: program.number(), method: program.name(), deadline: program.duration(),
            sender: program.bool() ? nil : AccountName("eve"))
    }

    /// A well-formed frame of any type on any session.
    private static func frame(_ host: ClientHost, _ program: inout ByteProgram) -> [UInt8] {
        let session = FrameMaker.session(&program)
        let frame = FrameMaker.frame(&program)
        return host.frame(frame.type, frame.encode(), on: session)
    }

    // MARK: The application

    private static func use(_ host: ClientHost, _ program: inout ByteProgram) {
        let choice = program.byte() % 14
        if choice == 0 { return host.open(&program) }
        if choice == 1 { return host.take() }
        switch choice {
        case 2: host.act { $0.handle(.stop, now: $1) }
        case 3: host.act { $0.handle(.start, now: $1) }
        case 4: host.act { $0.handle(.retryNow, now: $1) }
        case 5: host.act { $0.handle(.setMode(program.pick(HeartbeatMode.allCases)), now: $1) }
        case 6: host.act { $0.handle(.wake, now: $1) }
        default: useRoom(host, choice, &program)
        }
    }

    private static func useRoom(_ host: ClientHost, _ choice: UInt8, _ program: inout ByteProgram) {
        guard !host.rooms.isEmpty else { return }
        let room = program.pick(host.rooms)
        switch choice {
        case 7: host.act { $0.suspend(room, now: $1) }
        case 8: host.act { $0.resume(room, now: $1) }
        case 9: host.act { $0.close(room, now: $1) }
        case 10: host.ask(room, deadline: program.duration())
        case 11: host.act { $0.markRead(room, upTo: program.number(), now: $1) }
        case 12:
            guard let request = host.asked.last else { return }
            host.act { $0.respond(to: request, in: room, now: $1) }
        default:
            guard let number = host.requests.last else { return }
            host.act { $0.cancelRequest(number, now: $1) }
        }
    }

    private static func say(_ host: ClientHost, _ program: inout ByteProgram) {
        guard !host.rooms.isEmpty else { return }
        let room = program.pick(host.rooms)
        let content = MessageContent(text: String(repeating: "z", count: 1 + program.below(3000)))
        let timeToLive: Duration? = program.bool() ? program.duration() : nil
        for _ in 0...program.below(8) {
            host.nextCounter += 1
            host.act { engine, now in
                try? engine.send(
                    counter: host.nextCounter, content: content, timeToLive: timeToLive, in: room, now: now)
            }
        }
    }
}
