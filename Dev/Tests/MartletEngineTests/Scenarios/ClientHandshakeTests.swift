import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// From the connection attempt to the welcome, with events in any order.
@Suite struct ClientHandshakeTests {
    // C-12
    @Test func `a credential after the connection → hello waits for it`() throws {
        let stage = ClientStage()
        stage.givesCredentials = false
        stage.act { $0.handle(.start, now: $1) }
        let id = stage.connection
        #expect(stage.outputs.prefix(2) == [.link(.fetchCredential(id)), .link(.connect(id, redirect: nil))])
        stage.accept()
        #expect(stage.log.frames.isEmpty)
        #expect(stage.engine.status.state == .handshaking)
        stage.act { $0.handle(.credential(id, Credential("secret")), now: $1) }
        let hello = try #require(stage.log.last(Hello.self))
        #expect(hello.credential == Credential("secret"))
        #expect(hello.resume == nil)
        stage.welcome()
        #expect(stage.engine.status.isOnline)
        #expect(stage.engine.status.epoch == 1)
    }

    @Test func `a credential before the connection → hello is sent when connected`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        #expect(stage.log.frames.isEmpty)
        stage.accept()
        #expect(stage.log.frames.map(\.type) == [.hello])
    }

    @Test func `a second credential, and one for another attempt, are ignored`() {
        let stage = ClientStage()
        stage.givesCredentials = false
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let id = stage.connection
        stage.act { $0.handle(.credential(ConnectionID(rawValue: 99), Credential("old")), now: $1) }
        #expect(stage.log.frames.isEmpty)
        stage.act { $0.handle(.credential(id, Credential("new")), now: $1) }
        stage.act { $0.handle(.credential(id, Credential("newer")), now: $1) }
        #expect(stage.log.all(Hello.self).map(\.credential) == [Credential("new")])
    }

    @Test func `a failed credential → another attempt, which requests a credential`() {
        let stage = ClientStage()
        stage.givesCredentials = false
        stage.act { $0.handle(.start, now: $1) }
        let first = stage.connection
        stage.act { $0.handle(.credentialFailed(first), now: $1) }
        #expect(stage.outputs.contains(.link(.close(first, graceful: false))))
        guard case .waiting(_, .backoff(attempt: 1)) = stage.engine.status.state else {
            Issue.record("\(stage.engine.status)")
            return
        }
        stage.run(for: .seconds(1))
        #expect(stage.connection != first)
        #expect(stage.outputs.contains(.link(.fetchCredential(stage.connection))))
    }

    @Test func `failed attempts → growing waits, with the failure in the status`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        var waits: [Duration] = []
        for attempt in 1...8 {
            stage.act { [id = stage.connection] engine, now in engine.handle(.connectFailed(id), now: now) }
            #expect(stage.engine.status.lastFailure == .unreachable)
            guard case .waiting(let until, .backoff(let counted)) = stage.engine.status.state else {
                Issue.record("\(stage.engine.status)")
                return
            }
            #expect(counted == attempt)
            #expect(stage.engine.status.nextAttempt == until)
            waits.append(until - stage.now)
            stage.run(for: until - stage.now)
            #expect(stage.engine.status.state == .connecting(attempt: attempt + 1))
        }
        for (index, wait) in waits.enumerated() { #expect(wait < .seconds(min(1 << index, 30))) }
    }

    @Test func `an unanswered attempt ends after 15 s`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        let first = stage.connection
        stage.run(for: .seconds(15))
        #expect(stage.outputs.contains(.link(.close(first, graceful: false))))
        #expect(stage.engine.status.lastFailure == .unreachable)
        stage.run(for: .seconds(1))
        #expect(stage.connection != first)
    }

    // C-60, S-33
    @Test(arguments: [true, false]) func `an unanswered handshake ends after 10 s`(hasCredential: Bool) {
        let stage = ClientStage()
        stage.givesCredentials = hasCredential
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let first = stage.connection
        stage.run(for: .milliseconds(9999))
        #expect(!stage.outputs.contains(.link(.close(first, graceful: false))))
        stage.run(for: .milliseconds(1))
        #expect(stage.outputs.contains(.link(.close(first, graceful: false))))
        #expect(stage.engine.status.lastFailure == .unreachable)
    }

    // C-12
    @Test func `a failure of TLS after the hello → tlsFailure before welcome, lost after it`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.act { [id = stage.connection] engine, now in
            engine.handle(.closed(id, byPeer: false, isTLSFailure: true), now: now)
        }
        #expect(stage.engine.status.lastFailure == .tlsFailure)
        let online = ClientStage()
        online.goOnline()
        online.act { [id = online.connection] engine, now in
            engine.handle(.closed(id, byPeer: false, isTLSFailure: true), now: now)
        }
        #expect(online.engine.status.lastFailure == .lost)
    }

    @Test func `single bytes of a welcome do not extend the deadline of the handshake`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let first = stage.connection
        for byte in stage.maker.frame(ClientStage.welcome()).prefix(20) {
            stage.run(for: .milliseconds(500))
            stage.send([byte])
        }
        #expect(stage.outputs.contains(.link(.close(first, graceful: false))))
    }

    // C-43, C-44
    @Test(arguments: [
        (ErrorCode.forbidden, StopReason.forbidden), (.revoked, .revoked), (.replaced, .replaced),
        (.unsupportedVersion, .unsupportedVersion),
    ])
    func `a reject with a permanent code stops the client until retryNow`(code: ErrorCode, reason: StopReason) {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.say(Reject(Notice(code: code)))
        #expect(stage.engine.status.state == .stopped(reason))
        #expect(stage.engine.status.lastCode == code)
        stage.run(for: .seconds(3600))
        #expect(stage.engine.status.state == .stopped(reason))
        stage.act { $0.handle(.retryNow, now: $1) }
        #expect(stage.engine.status.state == .connecting(attempt: 1))
    }

    // C-43
    @Test func `code and reason of a notice are in the status until the next failure or welcome`() {
        let stage = ClientStage()
        stage.goOnline()
        stage.say(GoAway(Notice(code: .draining, reason: "back at noon\n")))
        #expect(stage.engine.status.lastCode == .draining)
        #expect(stage.engine.status.lastReason == "back at noon\n")
        stage.act { $0.handle(.retryNow, now: $1) }
        stage.accept()
        stage.say(Reject(Notice(code: .serverBusy)))
        #expect(stage.engine.status.lastReason == nil)
        stage.act { $0.handle(.retryNow, now: $1) }
        stage.accept()
        stage.say(Reject(Notice(code: .serverBusy, reason: "full")))
        #expect(stage.engine.status.lastReason == "full")
        stage.act { $0.handle(.retryNow, now: $1) }
        stage.act { [id = stage.connection] engine, now in engine.handle(.connectFailed(id, .notListening), now: now) }
        #expect(stage.engine.status.lastFailure == .notListening)
        #expect(stage.engine.status.lastCode == nil && stage.engine.status.lastReason == nil)
        #expect(stage.engine.status.failedConnection == stage.connection)
        stage.act { $0.handle(.retryNow, now: $1) }
        stage.accept()
        stage.welcome(epoch: 2, resumed: [SessionPosition(session: .control, received: 0)])
        #expect(stage.engine.status.isOnline)
        #expect(stage.engine.status.lastReason == nil)
    }

    // C-39
    @Test func `replaced after an unanswered hello → another attempt once, then stopped`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.act { $0.handle(.stop, now: $1) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome()
        stage.say(GoAway(Notice(code: .replaced)))
        #expect(stage.engine.status.lastFailure == .lost)
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        stage.welcome()
        #expect(stage.engine.status.state == .online)
        stage.say(GoAway(Notice(code: .replaced)))
        #expect(stage.engine.status.state == .stopped(.replaced))
    }

    // C-39
    @Test(arguments: [true, false])
    func `replaced after an answered or an old hello → stopped`(isAnswered: Bool) {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        if isAnswered { stage.say(Reject(Notice(code: .serverBusy))) }
        stage.act { $0.handle(.stop, now: $1) }
        if !isAnswered { stage.run(for: ClientHandshake.lateHelloLifetime) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome()
        stage.say(GoAway(Notice(code: .replaced)))
        #expect(stage.engine.status.state == .stopped(.replaced))
    }

    // C-43
    @Test func `unauthenticated → another attempt, a second time → stopped`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.say(Reject(Notice(code: .unauthenticated)))
        #expect(stage.engine.status.lastFailure == .unauthenticated)
        stage.run(for: .seconds(1))
        stage.accept()
        stage.say(Reject(Notice(code: .unauthenticated)))
        #expect(stage.engine.status.state == .stopped(.unauthenticated))
    }

    // C-43
    @Test(arguments: [ErrorCode.serverBusy, .draining, .tooManyLinks])
    func `a reject with retryAfter 20 s → a wait of 20 to 21 s`(code: ErrorCode) {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.say(Reject(Notice(code: code, retryAfter: .seconds(20))))
        guard case .waiting(let until, .serverRequired) = stage.engine.status.state else {
            Issue.record("\(stage.engine.status)")
            return
        }
        #expect(until - stage.now >= .seconds(20))
        #expect(until - stage.now <= .seconds(21))
    }

    // C-58
    @Test func `a redirect → an attempt at its target, then one at the configured address`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.say(Reject(Notice(code: .redirected, redirect: "martlet://b.example")))
        #expect(stage.outputs.contains(.link(.connect(stage.connection, redirect: "martlet://b.example"))))
        stage.act { [id = stage.connection] engine, now in engine.handle(.connectFailed(id), now: now) }
        stage.run(for: .seconds(2))
        #expect(stage.outputs.contains(.link(.connect(stage.connection, redirect: nil))))
    }

    // C-43
    @Test func `a goaway with a redirect → an attempt at its target, which resumes the link`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        stage.say(GoAway(Notice(code: .draining, retryAfter: .seconds(1), redirect: "martlet://b.example")))
        #expect(stage.engine.status.lastFailure == .redirected(retryAfter: .seconds(1)))
        stage.run(for: .seconds(1))
        #expect(stage.outputs.contains(.link(.connect(stage.connection, redirect: "martlet://b.example"))))
        stage.accept()
        #expect(stage.log.last(Hello.self)?.resume?.link == LinkID(rawValue: 7))
    }

    // W-45, C-12, C-14, C-21, C-29
    @Test func `a resume contains the link, its token and the position of each session`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.message("one", offset: 1)
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        let hello = try #require(stage.log.last(Hello.self))
        let header = try #require(stage.log.frames.first?.header)
        #expect((header.session, header.sequence, header.timestamp) == (.control, 0, 0))
        #expect((header.version, header.compression) == (WireVersion(major: 1, minor: 0), .none))
        #expect(hello.resume?.token == ResumeToken(1, 2, 3, 1))
        #expect(
            hello.resume?.positions == [
                SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 2),
            ])
        stage.welcome(
            epoch: 2,
            resumed: [
                SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1),
            ])
        #expect(stage.engine.status.isOnline)
        #expect(stage.engine.status.resumes == 1)
        #expect(stage.engine.status.reconnects == 1)
        #expect(stage.engine.status.epoch == 2)
        // The room was not closed, and is not opened again.
        #expect(stage.events(in: room).count { if case .opened = $0 { true } else { false } } == 1)
        #expect(stage.log.all(Open.self).isEmpty)
    }

    // W-46, C-34, C-36, R-9
    @Test func `a refused resume → a new link on the same connection`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.message("one", offset: 1)
        try stage.act { engine, now in
            try engine.send(counter: 5, content: MessageContent(text: "five"), in: room, now: now)
        }
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        let connection = stage.connection
        stage.say(Reject(Notice(code: .resumeRejected)))
        #expect(stage.connection == connection)
        let hellos = stage.log.all(Hello.self)
        #expect(hellos.count == 2)
        #expect(hellos.last?.resume == nil)
        // The room is opened again at the application's cursor, and unaccepted messages are sent again.
        #expect(stage.log.last(Open.self)?.cursor == 1)
        #expect(stage.log.last(Message.self)?.counter == 5)
        stage.welcome()
        #expect(stage.engine.status.isOnline)
        #expect(stage.engine.status.reconnects == 1)
        #expect(stage.engine.status.resumes == 0)
        #expect(stage.engine.status.epoch == 1)
    }

    // C-20
    @Test func `a welcome with higher limits and other features → the offered ones apply`() throws {
        let stage = ClientStage { $0.link.limits = Limits(maxMessageByteCount: 20_000) }
        let room = stage.act { engine, now in try? engine.open(.lobby, now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(
            limits: Limits(
                maxBodyByteCount: 1 << 30, maxMessageByteCount: 1 << 31, linkWindow: 1 << 31, sessionWindow: 1 << 31),
            features: Features(rawValue: .max))
        #expect(stage.engine.client.link.limits == Limits(maxMessageByteCount: 20_000))
        #expect(stage.engine.client.link.features == .supported)
        let id = try #require(room)
        #expect(throws: ClientError.messageTooLarge) {
            try stage.act { engine, now in
                let content = MessageContent(text: String(repeating: "x", count: 20_000))
                try engine.send(counter: 1, content: content, in: id, now: now)
            }
        }
    }

    @Test func `the loss of a healthy connection counts as the first failure`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        for _ in 0..<5 {
            stage.act { [id = stage.connection] engine, now in engine.handle(.connectFailed(id), now: now) }
            guard let next = stage.engine.status.nextAttempt else { continue }
            stage.run(for: next - stage.now)
        }
        stage.accept()
        stage.welcome()
        stage.run(for: .seconds(11))
        stage.end(byPeer: false)
        guard case .waiting(_, .backoff(attempt: 1)) = stage.engine.status.state else {
            Issue.record("\(stage.engine.status)")
            return
        }
        #expect(stage.engine.status.lastFailure == .lost)
    }

    // C-4
    @Test func `events of an ended connection have no effect`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        let old = stage.connection
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        let before = stage.outputs.count
        stage.act { $0.handle(.connected(old, localAddress: nil), now: $1) }
        stage.act { $0.handle(.connectFailed(old), now: $1) }
        stage.act { $0.handle(.closed(old, byPeer: true), now: $1) }
        stage.act { $0.handle(.credentialFailed(old), now: $1) }
        stage.act { engine, now in engine.receive([1, 2, 3].rawBytes, on: old, now: now) }
        #expect(stage.outputs.count == before)
    }
}
