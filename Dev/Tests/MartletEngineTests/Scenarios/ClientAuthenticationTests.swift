import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// The client's side of exchanges and renewals, with a server that says whatever it likes.
@Suite struct ClientAuthenticationTests {
    private let first = Credential("first")!
    private let challenge = Credential("challenge")!
    private let final = Credential("final")!
    private let proof = Credential("proof")!

    /// A client that has sent a hello with a mechanism.
    private func began() -> ClientStage {
        let stage = ClientStage()
        (stage.credential, stage.mechanism) = (first, MechanismName("X-TEST"))
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        return stage
    }

    /// A client that has answered a challenge.
    private func answered() -> ClientStage {
        let stage = began()
        stage.say(Auth(credential: challenge))
        answer(stage)
        return stage
    }

    private func answer(_ stage: ClientStage, expecting: Bool = true) {
        stage.act { [id = stage.connection] engine, now in
            engine.handle(.answer(id, final, expecting: expecting ? proof : nil), now: now)
        }
    }

    /// The next attempt succeeds.
    private func reconnect(_ stage: ClientStage) {
        if let next = stage.engine.status.nextAttempt { stage.run(for: next - stage.now) }
        stage.accept()
    }

    // MARK: Exchange

    // C-68, C-69, C-70
    @Test func `a challenge and the expected message in welcome -> online`() throws {
        let stage = began()
        let hello = try #require(stage.log.last(Hello.self))
        #expect(hello.mechanism == MechanismName("X-TEST"))
        #expect(hello.credential == first)
        stage.say(Auth(credential: challenge))
        #expect(stage.outputs.last == .link(.answerChallenge(stage.connection, challenge)))
        #expect(stage.log.all(Auth.self).isEmpty)
        answer(stage)
        #expect(stage.log.last(Auth.self) == Auth(credential: final))
        #expect(stage.log.frames.last?.header.timestamp == 0)
        stage.welcome(credential: proof)
        #expect(stage.engine.status.isOnline)
    }

    // C-70, Specs/hostile.md row 55
    @Test(arguments: [nil, "prool", "proof,x=1", ""] as [String?])
    func `a welcome with another message than the expected one -> the client stops`(message: String?) {
        let stage = answered()
        stage.welcome(credential: message.flatMap { Credential($0) })
        #expect(stage.engine.status.state == .stopped(.serverUnverified))
        #expect(stage.engine.status.lastFailure == .serverUnverified)
        #expect(stage.farewell == .unauthenticated)
    }

    // C-70
    @Test func `a welcome before a challenge, or before the answer to it -> the client stops`() {
        let early = began()
        early.welcome()
        #expect(early.engine.status.state == .stopped(.serverUnverified))
        let unanswered = began()
        unanswered.say(Auth(credential: challenge))
        unanswered.welcome(credential: proof)
        #expect(unanswered.engine.status.state == .stopped(.serverUnverified))
    }

    // C-70
    @Test func `frames behind a welcome that is not verified -> not processed`() {
        let stage = answered()
        let ping = stage.maker.frame(Ping(nonce: 7))
        stage.send(stage.maker.frame(ClientStage.welcome()) + ping)
        #expect(stage.log.last(Pong.self) == nil)
        #expect(!stage.engine.status.isOnline)
    }

    // C-70
    @Test func `a challenge without a valid answer -> the client stops until the user retries`() {
        let stage = began()
        stage.say(Auth(credential: challenge))
        stage.act { [id = stage.connection] engine, now in engine.handle(.exchangeFailed(id), now: now) }
        #expect(stage.engine.status.state == .stopped(.serverUnverified))
        stage.act { $0.handle(.retryNow, now: $1) }
        #expect(stage.engine.status.state == .connecting(attempt: 1))
    }

    // C-69
    @Test func `two challenges -> two answers`() {
        let stage = began()
        stage.say(Auth(credential: challenge))
        answer(stage, expecting: false)
        stage.say(Auth(credential: challenge))
        answer(stage)
        stage.welcome(credential: proof)
        #expect(stage.log.all(Auth.self).count == 2)
        #expect(stage.engine.status.isOnline)
    }

    // C-20
    @Test func `a welcome before hello -> protocolViolation`() {
        let stage = ClientStage()
        stage.givesCredentials = false
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome()
        #expect(stage.farewell == .protocolViolation)
        #expect(!stage.engine.status.isOnline)
    }

    // C-19, C-69, W-97
    @Test func `a challenge that is not due -> protocolViolation`() {
        let token = ClientStage()
        token.act { $0.handle(.start, now: $1) }
        token.accept()
        token.say(Auth(credential: challenge))
        #expect(token.farewell == .protocolViolation)
        let twice = began()
        twice.say(Auth(credential: challenge))
        twice.say(Auth(credential: challenge))
        #expect(twice.farewell == .protocolViolation)
        let late = answered()
        late.say(Auth(credential: challenge))
        #expect(late.farewell == .protocolViolation)
        let empty = began()
        empty.say(Auth())
        #expect(empty.farewell == .protocolViolation)
    }

    // C-16, C-69
    @Test func `early frames -> sent behind the hello and confirmed by welcome`() throws {
        let stage = ClientStage()
        (stage.credential, stage.mechanism) = (first, MechanismName("X-TEST"))
        let room = try stage.act { engine, now in try engine.open(.lobby, RoomOptions(), now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        #expect(stage.log.frames.map(\.type).prefix(2) == [.hello, .open])
        stage.say(Auth(credential: challenge))
        answer(stage)
        stage.welcome(credential: proof)
        stage.opened(.first)
        #expect(stage.events(in: room).contains { if case .opened = $0 { true } else { false } })
    }

    // C-34, C-69
    @Test func `a resume that is refused -> another exchange on the same connection`() throws {
        let stage = answered()
        stage.welcome(credential: proof)
        stage.end()
        reconnect(stage)
        #expect(stage.log.last(Hello.self)?.resume != nil)
        stage.forgetOutputs()
        stage.say(Auth(credential: challenge))
        answer(stage)
        stage.credential = Credential("another first")
        stage.say(Reject(Notice(code: .resumeRejected)))
        #expect(stage.outputs.contains(.link(.fetchCredential(stage.connection))))
        let hello = try #require(stage.log.last(Hello.self))
        #expect(hello.resume == nil)
        #expect(hello.credential == Credential("another first"))
        stage.say(Auth(credential: challenge))
        answer(stage)
        stage.welcome(credential: proof)
        #expect(stage.engine.status.isOnline)
    }

    // C-43
    @Test func `a refusal during the exchange -> one more attempt with another exchange, then the client stops`() {
        let stage = answered()
        stage.say(Reject(Notice(code: .unauthenticated)))
        reconnect(stage)
        stage.say(Auth(credential: challenge))
        answer(stage)
        stage.say(Reject(Notice(code: .unauthenticated)))
        #expect(stage.engine.status.state == .stopped(.unauthenticated))
    }

    // C-60
    @Test func `no welcome after the answer -> the attempt ends 10 s after the carrier`() {
        let stage = answered()
        let id = stage.connection
        stage.run(for: .milliseconds(9_999))
        #expect(!stage.outputs.contains(.link(.close(id, graceful: false))))
        stage.run(for: .milliseconds(1))
        #expect(stage.outputs.contains(.link(.close(id, graceful: false))))
    }

    @Test func `an answer of an earlier connection -> not sent`() {
        let stage = began()
        stage.say(Auth(credential: challenge))
        let id = stage.connection
        stage.end()
        reconnect(stage)
        stage.act { engine, now in engine.handle(.answer(id, final, expecting: proof), now: now) }
        stage.act { engine, now in engine.handle(.exchangeFailed(id), now: now) }
        #expect(stage.log.all(Auth.self).isEmpty)
        #expect(stage.engine.status.state == .handshaking)
    }

    // MARK: Renewal

    /// An established client whose credential expires after 100 s.
    private func online(mechanism: Bool = false) -> ClientStage {
        let stage = mechanism ? answered() : ClientStage()
        stage.answersPings = true
        if !mechanism {
            stage.credential = first
            stage.act { $0.handle(.start, now: $1) }
            stage.accept()
        }
        stage.welcome(credential: mechanism ? proof : nil, credentialLifetime: .seconds(100))
        stage.forgetOutputs()
        return stage
    }

    // C-71
    @Test func `75 % of the lifetime -> another credential is fetched and sent, again after the answer`() {
        let stage = online()
        stage.credential = final
        stage.run(for: .seconds(71))
        #expect(stage.log.all(Auth.self).isEmpty)
        stage.run(for: .seconds(8))
        #expect(stage.outputs.contains(.link(.fetchCredential(stage.connection))))
        #expect(stage.log.all(Auth.self) == [Auth(credential: final)])
        stage.say(Auth(credentialLifetime: .seconds(50)))
        #expect(stage.engine.status.isOnline)
        stage.run(for: .seconds(40))
        #expect(stage.log.all(Auth.self).count == 2)
        stage.say(Auth())
        stage.run(for: .seconds(1000))
        #expect(stage.log.all(Auth.self).count == 2)
    }

    // C-71
    @Test func `no other credential -> the connection stays until the server ends it`() {
        let stage = online()
        stage.givesCredentials = false
        stage.run(for: .seconds(79))
        stage.act { [id = stage.connection] engine, now in engine.handle(.credentialFailed(id), now: now) }
        #expect(stage.engine.status.isOnline)
        #expect(stage.log.all(Auth.self).isEmpty)
        stage.say(GoAway(Notice(code: .unauthenticated)))
        stage.givesCredentials = true
        reconnect(stage)
        #expect(stage.log.last(Hello.self)?.credential == first)
    }

    // C-71
    @Test func `a client that has authenticated by a mechanism -> no renewal`() {
        let stage = online(mechanism: true)
        stage.run(for: .seconds(1000))
        #expect(!stage.outputs.contains(.link(.fetchCredential(stage.connection))))
    }

    // C-71
    @Test func `an auth of the server without a renewal -> protocolViolation`() {
        let stage = online()
        stage.say(Auth(credentialLifetime: .seconds(10)))
        #expect(stage.farewell == .protocolViolation)
    }

    // C-71
    @Test func `a connection that ends during a renewal -> the next hello has the credential of its own attempt`() {
        let stage = online()
        stage.givesCredentials = false
        stage.run(for: .seconds(79))
        let id = stage.connection
        stage.end()
        stage.act { engine, now in engine.handle(.credential(id, final), now: now) }
        stage.givesCredentials = true
        reconnect(stage)
        #expect(stage.log.frames.map(\.type).first == .hello)
        #expect(stage.log.last(Hello.self)?.credential == first)
        #expect(stage.log.all(Auth.self).isEmpty)
    }
}
