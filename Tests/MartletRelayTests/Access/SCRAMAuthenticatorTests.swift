import MartletAuthentication
import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite struct SCRAMAuthenticatorTests {
    private static let exporter = [UInt8](0..<32)

    private func authenticator(allowsPlaintext: Bool = true) throws -> SCRAMAuthenticator {
        SCRAMAuthenticator(passwordFile: try TestPasswords.file(), allowsPlaintext: allowsPlaintext)
    }

    /// The challenge and the result of an exchange; nil, and the cause, if it was refused.
    private func run(
        _ client: SCRAMClient, as account: String = "ada", exporter: [UInt8]? = nil, at relay: SCRAMAuthenticator
    ) async throws -> (challenge: String, step: AuthenticationStep?, cause: String?) {
        var client = client
        let request = TestPasswords.request(account, exporter: exporter)
        var exchange = try #require(try relay.exchange(for: request))
        guard case .challenge(let challenge) = try await exchange.step(client.start()) else {
            throw AuthenticationFailure.forbidden
        }
        let answer = try client.receive(serverFirst: challenge)
        do {
            let step = try await exchange.step(answer)
            if case .accepted(_, let final) = step { #expect(final == client.expectedServerFinal) }
            return (String(decoding: challenge, as: UTF8.self), step, nil)
        } catch let failure as AuthenticationFailure {
            #expect(failure.notice == Notice(code: .unauthenticated))
            return (String(decoding: challenge, as: UTF8.self), nil, failure.cause)
        }
    }

    /// The attributes of a challenge behind the nonce.
    private func parameters(_ challenge: String) -> Substring { challenge.drop { $0 != "," } }

    // C-68, C-69
    @Test(arguments: [nil, exporter]) func `the right password -> the account, and the relay's proof`(
        exporter: [UInt8]?
    ) async throws {
        let client = try TestPasswords.client(exporter: exporter)
        let result = try await run(client, exporter: exporter, at: authenticator())
        guard case .accepted(let identity, .some) = result.step else {
            Issue.record("\(result)")
            return
        }
        #expect(identity == Identity(AccountName("ada")))
    }

    // C-69, Specs/hostile.md row 55
    @Test func `a wrong password and an unknown account -> the same steps and the same refusal`() async throws {
        let relay = try authenticator()
        let wrong = try await run(TestPasswords.client("ada", "open sesam"), at: relay)
        let unknown = try await run(TestPasswords.client("bob", "open sesame"), as: "bob", at: relay)
        #expect(wrong.step == nil && unknown.step == nil)
        #expect(wrong.cause == "the password is wrong" && unknown.cause == "the account has no password")
        #expect(wrong.challenge.utf8.count == unknown.challenge.utf8.count)
        #expect(wrong.challenge.hasSuffix(",i=4096") && unknown.challenge.hasSuffix(",i=4096"))
    }

    // C-69
    @Test func `an unknown account -> the same salt each time, also after a restart, and not that of another account`()
        async throws
    {
        var salts: [Substring] = []
        for name in ["bob", "bob", "eve"] {
            salts.append(parameters(try await run(TestPasswords.client(name), as: name, at: authenticator()).challenge))
        }
        #expect(salts[0] == salts[1])
        #expect(salts[0] != salts[2])
    }

    // C-69
    @Test func `two exchanges -> different nonces`() async throws {
        let relay = try authenticator()
        let challenges = [
            try await run(TestPasswords.client(), at: relay).challenge,
            try await run(TestPasswords.client(), at: relay).challenge,
        ]
        #expect(challenges[0] != challenges[1])
        #expect(parameters(challenges[0]) == parameters(challenges[1]))
    }

    // C-68, Specs/hostile.md row 55
    @Test func `a proof for another TLS connection -> refused`() async throws {
        let other = [UInt8](repeating: 9, count: 32)
        let client = try TestPasswords.client(exporter: other)
        let result = try await run(client, exporter: Self.exporter, at: authenticator())
        #expect(result.step == nil && result.cause == "the exchange is not bound to the connection")
    }

    // Specs/hostile.md row 55
    @Test func `an answer that is repeated in another exchange, or has another nonce -> refused`() async throws {
        let relay = try authenticator()
        var client = try TestPasswords.client()
        let first = client.start()
        var exchange = try #require(try relay.exchange(for: TestPasswords.request()))
        guard case .challenge(let challenge) = try await exchange.step(first) else { throw PeerError.nothing }
        let answer = try client.receive(serverFirst: challenge)
        var later = try #require(try relay.exchange(for: TestPasswords.request()))
        _ = try await later.step(first)
        let failure = AuthenticationFailure.unauthenticated(because: "the nonce is not that of the exchange")
        await #expect(throws: failure) { try await later.step(answer) }
        let changed = String(decoding: answer, as: UTF8.self).replacing(",r=A", with: ",r=B")
        await #expect(throws: failure) { try await exchange.step(Array(changed.utf8)) }
        await #expect(throws: AuthenticationFailure.self) { try await exchange.step(answer) }
    }

    // Specs/hostile.md row 55
    @Test func `a message that is cut off or too long, at each step -> refused`() async throws {
        let relay = try authenticator()
        var client = try TestPasswords.client()
        let first = client.start()
        for message in [[], first.dropLast(32), first + [UInt8](repeating: 0x61, count: 4096)] {
            var exchange = try #require(try relay.exchange(for: TestPasswords.request()))
            let failure = await #expect(throws: AuthenticationFailure.self) { try await exchange.step(Array(message)) }
            #expect(failure?.notice == Notice(code: .unauthenticated))
        }
        for change in [{ Array($0.dropLast()) }, { _ in [] }, { $0 + $0 }] as [@Sendable ([UInt8]) -> [UInt8]] {
            var client = try TestPasswords.client()
            var exchange = try #require(try relay.exchange(for: TestPasswords.request()))
            guard case .challenge(let challenge) = try await exchange.step(client.start()) else { continue }
            let answer = change(try client.receive(serverFirst: challenge))
            let failure = await #expect(throws: AuthenticationFailure.self) { try await exchange.step(answer) }
            #expect(failure?.notice == Notice(code: .unauthenticated))
        }
    }

    // C-68
    @Test func `the first message of another account than that of hello -> refused`() async throws {
        var client = try TestPasswords.client("ada")
        var exchange = try #require(try authenticator().exchange(for: TestPasswords.request("bob")))
        let first = client.start()
        let failure = AuthenticationFailure.unauthenticated(because: "the exchange is for another account")
        await #expect(throws: failure) { try await exchange.step(first) }
    }

    // C-68
    @Test func `a first message whose account only looks like that of hello -> refused`() async throws {
        var client = try TestPasswords.client("e\u{301}")
        var exchange = try #require(try authenticator().exchange(for: TestPasswords.request("\u{E9}")))
        let first = client.start()
        let failure = AuthenticationFailure.unauthenticated(because: "the exchange is for another account")
        await #expect(throws: failure) { try await exchange.step(first) }
    }

    // C-68
    @Test func `another mechanism, or one that the connection does not permit -> refused with the permitted one`()
        async throws
    {
        let cases: [(mechanism: String, exporter: [UInt8]?, allowsPlaintext: Bool, reason: String)] = [
            ("PLAIN", Self.exporter, false, "the mechanism is SCRAM-SHA-256-PLUS"),
            ("SCRAM-SHA-256", Self.exporter, true, "the mechanism is SCRAM-SHA-256-PLUS"),
            ("SCRAM-SHA-256-PLUS", nil, true, "the mechanism is SCRAM-SHA-256"),
            ("SCRAM-SHA-256-PLUS", nil, false, "a password requires TLS"),
            ("SCRAM-SHA-256", nil, false, "a password requires TLS"),
        ]
        for (mechanism, exporter, allowsPlaintext, reason) in cases {
            let relay = try authenticator(allowsPlaintext: allowsPlaintext)
            let refusal = AuthenticationFailure(Notice(code: .unauthenticated, reason: reason))
            #expect(throws: refusal) {
                try relay.exchange(for: TestPasswords.request(mechanism: mechanism, exporter: exporter))
            }
        }
        for (hasTLS, allowsPlaintext, reason) in [
            (true, true, "the mechanism is SCRAM-SHA-256-PLUS"), (true, false, "the mechanism is SCRAM-SHA-256-PLUS"),
            (false, true, "the mechanism is SCRAM-SHA-256"), (false, false, "a password requires TLS"),
        ] {
            let token = AuthenticationRequest(
                account: AccountName("ada"), device: DeviceID(rawValue: 1), credential: Credential("token"),
                hasTLS: hasTLS)
            let refusal = AuthenticationFailure(Notice(code: .unauthenticated, reason: reason))
            let relay = try authenticator(allowsPlaintext: allowsPlaintext)
            await #expect(throws: refusal) { try await relay.authenticate(token) }
        }
    }

    // C-68
    @Test(arguments: ["SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"], [true, false])
    func `TLS without a channel binding -> every mechanism is refused, also if passwords without TLS are permitted`(
        mechanism: String, allowsPlaintext: Bool
    ) throws {
        let relay = try authenticator(allowsPlaintext: allowsPlaintext)
        let refusal = AuthenticationFailure(
            Notice(code: .unauthenticated, reason: "a password requires a TLS connection with a channel binding"))
        #expect(throws: refusal) {
            try relay.exchange(for: TestPasswords.request(mechanism: mechanism, hasTLS: true))
        }
    }

    // MARK: Over sockets

    // C-69, C-70
    @Test func `an exchange over a socket -> welcome with the relay's proof`() async throws {
        try await withRelay(authenticator: try authenticator()) { _, port in
            let peer = try await WirePeer.connect(to: port)
            var client = try TestPasswords.client()
            let challenge = try await peer.beginExchange(client.start())
            await peer.send(Auth(credential: Credential(try client.receive(serverFirst: challenge))))
            let welcome: Welcome = try await peer.expect()
            #expect(welcome.credential?.bytes == client.expectedServerFinal)
            #expect(welcome.credentialLifetime == nil)
            try await peer.open()
        }
    }

    // C-69, Specs/hostile.md row 55
    @Test func `a wrong password and an unknown account over sockets -> equal frames`() async throws {
        try await withRelay(authenticator: try authenticator()) { _, port in
            var answers: [[[UInt8]]] = []
            for (account, password) in [("ada", "open sesam"), ("bob", "open sesame")] {
                let peer = try await WirePeer.connect(to: port)
                var client = try TestPasswords.client(account, password)
                let challenge = try await peer.beginExchange(client.start(), as: account)
                await peer.send(Auth(credential: Credential(try client.receive(serverFirst: challenge))))
                let reject = try await peer.frame()
                #expect(reject.notice == Notice(code: .unauthenticated))
                answers.append([[UInt8(truncatingIfNeeded: challenge.count)], reject.body])
            }
            #expect(answers[0] == answers[1])
        }
    }

    // C-67
    @Test func `failed exchanges -> counted as failed authentications of the address, unanswered challenges are not`()
        async throws
    {
        var limits = PeerLimits.unlimited
        limits.maxFailures = 2
        limits.minRefusal = .seconds(60)
        try await withRelay(limits: limits, authenticator: try authenticator()) { _, port in
            func attempt(answers: Bool) async throws {
                let peer = try await WirePeer.connect(to: port)
                var client = try TestPasswords.client("ada", "wrong")
                let challenge = try await peer.beginExchange(client.start())
                guard answers else { return await peer.cut() }
                await peer.send(Auth(credential: Credential(try client.receive(serverFirst: challenge))))
                #expect(try await peer.expect(Reject.self).notice.code == .unauthenticated)
            }
            let early = try await WirePeer.connect(to: port)
            for answers in [false, false, false, true, true] { try await attempt(answers: answers) }
            await early.send(FrameWriter.hello("ada"))
            #expect(try await early.expect(Reject.self).notice.code == .serverBusy)
        }
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, answers to challenges that were sent before failures -> serverBusy, not verified`() async throws
    {
        var limits = PeerLimits.unlimited
        limits.maxFailures = 2
        limits.minRefusal = .seconds(60)
        try await withRelay(limits: limits, authenticator: try authenticator()) { _, port in
            var guesses: [(peer: WirePeer, answer: [UInt8])] = []
            for _ in 0..<4 {
                let peer = try await WirePeer.connect(to: port)
                var client = try TestPasswords.client("ada", "wrong")
                let challenge = try await peer.beginExchange(client.start())
                guesses.append((peer, try client.receive(serverFirst: challenge)))
            }
            var codes: [ErrorCode] = []
            for guess in guesses {
                await guess.peer.send(Auth(credential: Credential(guess.answer)))
                codes.append(try await guess.peer.expect(Reject.self).notice.code)
            }
            #expect(codes == [.unauthenticated, .unauthenticated, .serverBusy, .serverBusy])
        }
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, answers to challenges all at once -> as many verified as one by one, the others serverBusy`()
        async throws
    {
        var limits = PeerLimits.unlimited
        limits.maxFailures = 2
        limits.minRefusal = .seconds(60)
        try await withRelay(limits: limits, loopCount: 2, authenticator: try authenticator()) { _, port in
            var guesses: [(peer: WirePeer, answer: [UInt8])] = []
            for _ in 0..<8 {
                let peer = try await WirePeer.connect(to: port)
                var client = try TestPasswords.client("ada", "wrong")
                let challenge = try await peer.beginExchange(client.start())
                guesses.append((peer, try client.receive(serverFirst: challenge)))
            }
            for guess in guesses { await guess.peer.send(Auth(credential: Credential(guess.answer))) }
            var codes: [ErrorCode] = []
            for guess in guesses { codes.append(try await guess.peer.expect(Reject.self).notice.code) }
            #expect(codes.count { $0 == .unauthenticated } == 2)
            #expect(codes.count { $0 == .serverBusy } == 6)
        }
    }

    // C-67
    @Test func `row 64, right passwords of one address all at once -> none is refused`() async throws {
        let host = "127.77.0.9"
        try await withRelay(host: host, limits: PeerLimits(), authenticator: try authenticator()) { _, port in
            var answers: [(peer: WirePeer, answer: [UInt8])] = []
            for number in 1...8 as ClosedRange<UInt64> {
                let peer = try await WirePeer.connect(to: port, host: host)
                var client = try TestPasswords.client()
                let challenge = try await peer.beginExchange(client.start(), device: number)
                answers.append((peer, try client.receive(serverFirst: challenge)))
            }
            for answer in answers { await answer.peer.send(Auth(credential: Credential(answer.answer))) }
            for answer in answers { _ = try await answer.peer.expect(Welcome.self) }
        }
    }

    // C-67, C-69, Specs/hostile.md row 55
    @Test func `messages of more than 4,096 bytes -> refused like wrong ones, and counted`() async throws {
        var limits = PeerLimits.unlimited
        limits.maxFailures = 2
        limits.minRefusal = .seconds(60)
        try await withRelay(limits: limits, authenticator: try authenticator()) { _, port in
            let early = try await WirePeer.connect(to: port)
            for _ in 1...2 {
                let peer = try await WirePeer.connect(to: port)
                var client = try TestPasswords.client()
                _ = try await peer.beginExchange(client.start())
                await peer.write { $0.frame(.auth, TLVBytes.leaf(.credential, [UInt8](repeating: 1, count: 4097))) }
                #expect(try await peer.expect(Reject.self).notice == Notice(code: .unauthenticated))
            }
            await early.send(FrameWriter.hello("ada"))
            #expect(try await early.expect(Reject.self).notice.code == .serverBusy)
        }
    }

    // C-68
    @Test func `a mechanism at a relay without mechanisms -> unauthenticated with the reason`() async throws {
        try await withRelay { _, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(
                Hello(
                    device: DeviceID(rawValue: 1), account: AccountName("ada"),
                    mechanism: MechanismName("SCRAM-SHA-256")))
            let notice = try await peer.expect(Reject.self).notice
            #expect(notice == Notice(code: .unauthenticated, reason: "the relay supports no mechanisms"))
        }
    }

    // C-28, C-69
    @Test func `an account that is revoked between the messages -> revoked`() async throws {
        try await withRelay(loopCount: 2, authenticator: try authenticator()) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            var client = try TestPasswords.client()
            let challenge = try await peer.beginExchange(client.start())
            await relay.revoke(AccountName("ada"))
            await peer.send(Auth(credential: Credential(try client.receive(serverFirst: challenge))))
            #expect(try await peer.expect(Reject.self).notice.code == .revoked)
        }
    }

    // C-69
    @Test func `an exchange that throws another error, or has a message of more than 4,096 bytes -> serverBusy`()
        async throws
    {
        struct Broken: Authenticator, AuthenticationExchange {
            func authenticate(_ request: AuthenticationRequest) async throws -> Identity { Identity(request.account) }
            func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? { self }
            func step(_ message: [UInt8]) async throws -> AuthenticationStep {
                if message.isEmpty { throw PeerError.nothing }
                return .challenge([UInt8](repeating: 1, count: 4097))
            }
        }
        let log = EventLog()
        try await withRelay(authenticator: Broken(), onEvent: log.note) { _, port in
            for message in ["", "x"] {
                let peer = try await WirePeer.connect(to: port)
                await peer.send(
                    Hello(
                        device: DeviceID(rawValue: 1), account: AccountName("ada"), mechanism: MechanismName("X"),
                        credential: Credential(message)))
                #expect(try await peer.expect(Reject.self).notice.code == .serverBusy)
            }
        }
        #expect(log.all.count { if case .authenticatorFailed = $0 { true } else { false } } == 2)
    }

    // C-71
    @Test func `a renewal over a socket -> asked for the link's account, answered with the new lifetime`() async throws
    {
        struct Expiring: Authenticator {
            func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
                guard let text = request.credential.map({ String(decoding: $0.bytes, as: UTF8.self) }),
                    let seconds = UInt64(text)
                else { throw AuthenticationFailure.unauthenticated }
                return Identity(request.account, expiresAt: EventLoop.wallClock + 1000 * seconds)
            }
        }
        try await withRelay(authenticator: Expiring()) { _, port in
            let peer = try await WirePeer.connect(to: port)
            let welcome = try await peer.hello(FrameWriter.hello(credential: "1000"))
            #expect(try #require(welcome.credentialLifetime) <= .seconds(1000))
            await peer.send(Auth(credential: Credential("5000")))
            let lifetime = try #require(try await peer.expect(Auth.self).credentialLifetime)
            #expect((.seconds(1001)...(.seconds(5000))).contains(lifetime))
            await peer.send(Auth(credential: Credential("not a number")))
            #expect(try await peer.finalNotice()?.code == .unauthenticated)
        }
    }
}
