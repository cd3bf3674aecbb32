import MartletTestSupport
import MartletWire

@testable import Martlet
@testable import MartletLink

/// A client engine with a scripted server, in virtual time.
final class ClientStage {
    var engine: ClientEngine
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    /// The outputs of the engine except `.transmit`.
    private(set) var outputs: [ClientOutput] = []
    /// The frames of the client on its latest connection.
    private(set) var log = FrameLog()
    var maker = FrameMaker()
    /// Whether a requested credential is provided at once.
    var givesCredentials = true
    /// What it is given: a token, or the start of an exchange.
    var credential: Credential?
    var mechanism: MechanismName?
    /// Whether the server answers pings.
    var answersPings = false
    /// Whether a graceful close completes at once.
    var finishesCloses = true
    /// Whether the connection takes the client's bytes.
    var takesBytes = true

    init(_ adjust: (inout ClientConfiguration) -> Void = { _ in }) {
        var configuration = ClientConfiguration(account: .alice, device: DeviceID(rawValue: 1))
        adjust(&configuration)
        engine = ClientEngine(configuration: configuration, seed: 1, now: now)
    }

    /// The connection that the client requested last.
    private(set) var connection = ConnectionID.none
    /// The backup connection that the client requested last.
    private(set) var backup = ConnectionID.none

    var states: [LinkStatus.State] {
        outputs.compactMap { output in
            if case .link(.status(let status)) = output { status.state } else { nil }
        }
    }

    func events(in room: RoomID) -> [RoomEvent] {
        outputs.compactMap { output in
            if case .room(room, let event) = output { event } else { nil }
        }
    }

    /// The code of the client's last goaway.
    var farewell: ErrorCode? { log.last(GoAway.self)?.notice.code }

    func count(_ output: ClientOutput) -> Int {
        outputs.count { $0 == output }
    }

    func room(_ id: RoomID) -> ClientRoom? { engine.rooms[id] }

    func cursor(of id: RoomID) -> RoomCursor? { room(id)?.reader.cursor }

    func act<Result>(_ event: (inout ClientEngine, Instant) throws -> Result) rethrows -> Result {
        let result = try event(&engine, now)
        settle()
        return result
    }

    func forgetOutputs() {
        outputs = []
    }

    // MARK: The server

    /// Completes the connection attempt.
    func accept() {
        log = FrameLog()
        maker = FrameMaker()
        act { [connection] engine, now in engine.handle(.connected(connection, localAddress: "10.0.0.1"), now: now) }
    }

    /// Completes the connection attempt of the backup.
    func acceptBackup() {
        connection = backup
        accept()
    }

    func send(_ bytes: [UInt8]) {
        engine.receive(bytes.rawBytes, on: connection, now: now)
        settle()
    }

    func say(_ body: some FrameBody, on session: SessionID = .control) {
        send(maker.frame(body, on: session))
    }

    func say(
        _ type: FrameType, _ body: [UInt8], on session: SessionID = .control, flags: FrameFlags = [],
        sequence: UInt32? = nil, compression: Compression = .none
    ) {
        send(maker.frame(type, body, on: session, flags: flags, sequence: sequence, compression: compression))
    }

    func welcome(
        limits: Limits = Limits(), features: Features = .supported, epoch: UInt32 = 1,
        heartbeatInterval: Duration? = nil, reconnectSpread: Duration? = nil, credential: Credential? = nil,
        credentialLifetime: Duration? = nil, resumed: [SessionPosition]? = nil
    ) {
        say(
            ClientStage.welcome(
                limits: limits, features: features, epoch: epoch, heartbeatInterval: heartbeatInterval,
                reconnectSpread: reconnectSpread, credential: credential, credentialLifetime: credentialLifetime,
                resumed: resumed))
    }

    static func welcome(
        limits: Limits = Limits(), features: Features = .supported, epoch: UInt32 = 1,
        heartbeatInterval: Duration? = nil, reconnectSpread: Duration? = nil, credential: Credential? = nil,
        credentialLifetime: Duration? = nil, resumed: [SessionPosition]? = nil
    ) -> Welcome {
        Welcome(
            version: features.spokenVersions.last!, features: features, limits: limits, account: .alice,
            link: LinkID(rawValue: 7), resumeToken: ResumeToken(1, 2, 3, UInt64(epoch)), epoch: Epoch(rawValue: epoch),
            resumeLifetime: .seconds(300), heartbeatInterval: heartbeatInterval,
            reconnectSpread: reconnectSpread, credential: credential, credentialLifetime: credentialLifetime,
            resumed: resumed)
    }

    func opened(_ session: SessionID, head: UInt64 = 0, log: LogID? = nil) {
        say(Opened(head: head, first: 1, log: log, members: [.alice]), on: session)
    }

    /// Sends a message with the relay's stamp.
    func message(_ text: String, offset: UInt64, on session: SessionID = .first) {
        let body = Message.encodeClient(counter: offset, kind: .text, content: Message.textContent(text))
        let relayed = Message.encodeRelay(
            offset: offset, acceptedAt: 1, sender: .bob, device: DeviceID(rawValue: 2), clientBody: body.rawBytes)
        say(.data, relayed, on: session)
    }

    /// Acknowledges a session up to a sequence, and grants credit; by default practically unlimited.
    func acknowledge(_ cumulative: UInt64, on session: SessionID = .first, creditLimit: UInt64 = 1 << 40) {
        let part = SessionAck(session: session, cumulative: cumulative, creditLimit: creditLimit)
        say(Ack(echo: nil, linkCredit: creditLimit, sessions: [part]))
    }

    /// Ends the connection, by the server or by the network.
    func end(byPeer: Bool = true) {
        act { [connection] engine, now in engine.handle(.closed(connection, byPeer: byPeer), now: now) }
    }

    /// Brings the client online, with a room if one is given, and by default with practically unlimited credit.
    @discardableResult
    func goOnline(
        _ room: RoomName? = nil, _ options: RoomOptions = RoomOptions(), head: UInt64? = nil, log: LogID? = nil,
        creditLimit: UInt64 = 1 << 40
    ) -> RoomID {
        var id = RoomID(rawValue: 0)
        if let room { id = act { engine, now in (try? engine.open(room, options, now: now)) ?? id } }
        act { $0.handle(.start, now: $1) }
        accept()
        welcome()
        if room != nil {
            opened(.first, head: head ?? options.cursor.offset, log: log)
            acknowledge(1, creditLimit: creditLimit)
        }
        return id
    }

    // MARK: Time

    func run(for duration: Duration) {
        let end = now + duration
        while let next = engine.deadline, next <= end {
            now = max(now, next)
            engine.deadlinePassed(now: now)
            settle()
        }
        now = end
    }

    /// Advances time while the process is suspended.
    func freeze(for duration: Duration) {
        now = now + duration
    }

    private func settle() {
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .link(.transmit(let id)): take(id)
            case .link(.connect(let id, _)):
                outputs.append(output)
                connection = id
            case .link(.startBackup(let id, _)):
                outputs.append(output)
                backup = id
                if givesCredentials { engine.handle(.credential(id, credential, mechanism: mechanism), now: now) }
            case .link(.fetchCredential(let id)):
                outputs.append(output)
                if givesCredentials { engine.handle(.credential(id, credential, mechanism: mechanism), now: now) }
            case .link(.close(let id, let isGraceful)):
                outputs.append(output)
                if isGraceful, finishesCloses {
                    take(id)
                    engine.handle(.closed(id, byPeer: false), now: now)
                }
            default: outputs.append(output)
            }
        }
    }

    private func take(_ id: ConnectionID) {
        guard takesBytes else { return }
        let seen = log.frames.count
        let bytes = Framer.drain { engine.transmit(on: id, into: &$0, now: now) }
        try? log.take(bytes, at: now)
        guard answersPings else { return }
        for case let ping? in log.frames.dropFirst(seen).map({ $0.parsed(Ping.self) }) {
            let pong = maker.frame(Pong(nonce: ping.nonce, echo: Echo(timestamp: 0, delay: .zero)))
            engine.receive(pong.rawBytes, on: id, now: now)
        }
    }

    /// Takes the client's bytes again.
    func takeBytes() {
        takesBytes = true
        take(connection)
        settle()
    }
}
