import MartletWire

@testable import Martlet
@testable import MartletLink

/// A client engine and a carrier to a scripted server.
///
/// The client must send whole frames, and few of them before welcome.
final class ClientHost {
    /// The maximum bytes of a client on a connection before welcome: two hellos, early frames behind each, and a
    /// goaway.
    private static let maxEarlyByteCount =
        2 * (Limits.maxHandshakeBodyByteCount + 2 * Link.earlyByteCount) + Notice.maxRedirectByteCount

    /// Each message of an exchange, of the client and of the server in welcome.
    static let message = Credential("message")!

    private(set) var engine: ClientEngine
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    /// The open connection.
    private(set) var connection: ConnectionID?
    private(set) var isWelcome = false
    private(set) var rooms: [RoomID] = []
    private(set) var requests: [UInt64] = []
    private(set) var asked: [IncomingRequest.ID] = []
    /// The highest sequence that the client has sent on each session.
    private(set) var sent: [SessionID: UInt64] = [:]
    /// The counter of the last message.
    var nextCounter: UInt64 = 0
    private var dial: ConnectionID?
    private var framer = Framer(maxBodyByteCount: FrameHeader.largestBodyByteCount)
    private var sequences: [SessionID: UInt32] = [:]
    private var byteCount = 0
    /// Whether the client authenticates by a mechanism, and the number of its answers on this connection.
    let usesMechanism: Bool
    private var answerCount = 0
    private var untaken: [(room: RoomID, byteCount: Int, offset: UInt64)] = []

    init(_ program: inout ByteProgram) {
        let options = program.byte()
        var configuration = ClientConfiguration(account: AccountName("alice"), device: DeviceID(rawValue: 7))
        configuration.link.carrier = options & 1 == 0 ? .reliable : .unreliable
        configuration.link.compressesMessages = options & 2 != 0
        configuration.maxRooms = 4
        configuration.maxRequests = 8
        engine = ClientEngine(configuration: configuration, seed: UInt64(options), now: now)
        usesMechanism = options & 0x10 != 0
        for _ in 0..<Int(options >> 2 & 3) { open(&program) }
        act { $0.handle(.start, now: $1) }
        connect()
    }

    // MARK: The carrier

    func connect() {
        guard let dial else { return }
        self.dial = nil
        connection = dial
        isWelcome = false
        framer = Framer(maxBodyByteCount: FrameHeader.largestBodyByteCount)
        sequences = [:]
        byteCount = 0
        answerCount = 0
        act { $0.handle(.connected(dial, localAddress: nil), now: $1) }
    }

    func refuse() {
        guard let dial else { return }
        self.dial = nil
        act { $0.handle(.connectFailed(dial), now: $1) }
    }

    func cut() {
        guard let id = connection else { return }
        connection = nil
        act { $0.handle(.closed(id, byPeer: true), now: $1) }
    }

    func receive(_ bytes: [UInt8]) {
        guard let connection else { return }
        act { $0.receive(bytes.rawBytes, on: connection, now: $1) }
    }

    /// A frame with the server's next sequence.
    func frame(_ type: FrameType, _ body: [UInt8], on session: SessionID) -> [UInt8] {
        var header = FrameHeader(type: type, session: session)
        if let rule = type.rule {
            if rule.scope == .control { header.session = .control }
            if rule.scope == .session, session == .control { header.session = SessionID(rawValue: 1) }
        }
        if type.rule?.isReliable == true {
            header.flags.insert(.reliable)
            sequences[header.session, default: 0] &+= 1
            header.sequence = sequences[header.session] ?? 0
        }
        return header.frame(body: body.rawBytes)
    }

    // MARK: The application

    func open(_ program: inout ByteProgram) {
        let name: RoomName = program.name()
        let options = RoomOptions(
            kind: program.pick(SessionKind.allCases), cursor: program.number(), tail: program.bool() ? 5 : nil,
            includesOwnMessages: program.bool())
        act { engine, now in
            if let room = try? engine.open(name, options, now: now) { rooms.append(room) }
        }
    }

    func ask(_ room: RoomID, deadline: Duration) {
        act { engine, now in
            let number = try? engine.request(MethodName("ask")!, in: room, deadline: deadline, now: now)
            if let number { requests.append(number) }
        }
    }

    /// Takes the received messages.
    func take() {
        let all = untaken
        untaken = []
        for message in all {
            act { $0.consumed(message.room, byteCount: message.byteCount, upTo: message.offset, now: $1) }
        }
    }

    func act(_ event: (inout ClientEngine, Instant) -> Void) {
        event(&engine, now)
        settle()
    }

    // MARK: Time

    func wait(_ duration: Duration) {
        let end = now + duration
        var steps = 0
        while let deadline = engine.deadline, deadline <= end {
            steps = deadline > now ? 0 : steps + 1
            hold(steps < 1000, "an engine's deadline does not advance")
            now = max(now, deadline)
            act { $0.deadlinePassed(now: $1) }
        }
        now = end
    }

    // MARK: Outputs

    private func settle() {
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .link(let output): perform(output)
            case .room(let room, .message(let message, let byteCount)):
                let offset = message.relay?.offset ?? 0
                untaken.append((room, byteCount, offset))
            case .room(_, .request(let request)): asked.append(request.id)
            case .transfer(let id, .needs(let position, let byteCount)):
                engine.provide([UInt8](repeating: 7, count: byteCount), at: position, for: id, now: now)
            case .transfer(let id, .received): engine.consumed(id, now: now)
            case .replaceDevice: engine.replaceDevice(by: DeviceID(rawValue: 0x99), now: now)
            case .room, .account, .response, .transfer: break
            }
        }
        LinkBounds.check(engine.client.link)
    }

    private func perform(_ output: LinkOutput) {
        switch output {
        case .connect(let id, _), .startBackup(let id, _): dial = id
        case .fetchCredential(let id):
            let (credential, mechanism) = usesMechanism ? (Self.message, MechanismName("X")) : (nil, nil)
            engine.handle(.credential(id, credential, mechanism: mechanism), now: now)
        case .answerChallenge(let id, let challenge): answer(challenge, for: id)
        case .transmit(let id): transmit(id)
        case .close(let id, let graceful):
            if graceful { transmit(id) }
            if dial == id { dial = nil }
            if connection == id { connection = nil }
            engine.handle(.closed(id, byPeer: false), now: now)
        case .status, .stopped: break
        }
    }

    /// Answers at most four messages of the server. An odd number of bytes requests a further message.
    private func answer(_ challenge: Credential, for id: ConnectionID) {
        answerCount += 1
        guard answerCount <= 4, !challenge.bytes.isEmpty else { return engine.handle(.exchangeFailed(id), now: now) }
        let isLast = challenge.bytes.count.isMultiple(of: 2)
        engine.handle(.answer(id, Self.message, expecting: isLast ? Self.message : nil), now: now)
    }

    private func transmit(_ id: ConnectionID) {
        while true {
            let bytes = Carrying.transmit { engine.transmit(on: id, into: &$0, now: now) }
            if bytes.isEmpty { return }
            guard id == connection else { continue }
            byteCount += bytes.count
            do throws(WireError) {
                _ = try framer.consume(bytes.rawBytes) { header, _ throws(WireError) in
                    if header.flags.contains(.reliable) {
                        sent[header.session] = max(sent[header.session] ?? 0, UInt64(header.sequence))
                    }
                    return .proceed
                }
            } catch {
                hold(false, "the client sent an invalid frame: \(error)")
            }
            isWelcome = isWelcome || engine.client.connection.isEstablished
            hold(isWelcome || byteCount <= Self.maxEarlyByteCount, "\(byteCount) bytes before welcome")
        }
    }
}
