import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite("Authenticator results")
struct AuthenticatorTests {
    private struct AuthenticatorStub: Authenticator {
        var answer: @Sendable (AuthenticationRequest) async throws -> AccountName

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            Identity(try await answer(request))
        }
    }

    // C-26
    @Test("other account name becomes the link's account")
    func renamed() async throws {
        try await withRelay(authenticator: AuthenticatorStub { _ in AccountName("peer-1") }) { _, port in
            let peer = try await WirePeer.connect(to: port)
            #expect(try await peer.hello().account.text == "peer-1")
            #expect(try await peer.open().members.map(\.text) == ["peer-1"])
        }
    }

    // C-27
    @Test("AuthenticationFailure rejects the hello with its notice")
    func refused() async throws {
        let notice = Notice(code: .forbidden, reason: "closed", retryAfter: .seconds(60))
        try await withRelay(authenticator: AuthenticatorStub { _ in throw AuthenticationFailure(notice) }) {
            relay, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(FrameWriter.hello())
            #expect(try await peer.expect(Reject.self).notice == notice)
            #expect(try await peer.finalNotice() == nil)
            #expect(await relay.statistics.links == 0)
        }
    }

    // C-27
    @Test("other error rejects the hello with serverBusy and reports an event")
    func failing() async throws {
        struct DatabaseIsDown: Error {}
        let log = EventLog()
        try await withRelay(authenticator: AuthenticatorStub { _ in throw DatabaseIsDown() }, onEvent: log.note) {
            _, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(FrameWriter.hello())
            let notice = try await peer.expect(Reject.self).notice
            #expect(notice.code == .serverBusy)
            #expect(notice.retryAfter == .seconds(5))
        }
        let failures = log.all.filter {
            if case .authenticatorFailed(let account, let error) = $0 {
                account.text == "alice" && error is DatabaseIsDown
            } else {
                false
            }
        }
        #expect(failures.count == 1)
    }

    @Test("closed connection cancels the authenticator's task")
    func hanging() async throws {
        let asked = AsyncStream<Void>.makeStream()
        let cancelled = AsyncStream<Void>.makeStream()
        let stub = AuthenticatorStub { _ in
            asked.continuation.yield()
            let never = AsyncStream<Never> { _ in }
            for await _ in never {}
            cancelled.continuation.yield()
            throw CancellationError()
        }
        try await withRelay(authenticator: stub) { _, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(FrameWriter.hello())
            #expect(await asked.stream.first { true } != nil)
            await peer.cut()
            #expect(await cancelled.stream.first { true } != nil)
        }
    }

    // C-28
    @Test("account revoked during authentication is rejected")
    func revokedMeanwhile() async throws {
        let asked = AsyncStream<Void>.makeStream()
        let answer = AsyncStream<Void>.makeStream()
        let stub = AuthenticatorStub { request in
            asked.continuation.yield()
            _ = await answer.stream.first { true }
            return request.account
        }
        try await withRelay(authenticator: stub) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(FrameWriter.hello())
            _ = await asked.stream.first { true }
            await relay.revoke(AccountName("alice"))
            answer.continuation.yield()
            #expect(try await peer.expect(Reject.self).notice.code == .revoked)
            #expect(await relay.statistics.links == 0)
            // A new authentication after the revocation is accepted.
            answer.continuation.yield()
            let again = try await WirePeer.connect(to: port)
            try await again.hello()
        }
    }

    @Test("request contains the fields of the hello")
    func request() async throws {
        let seen = Guarded<AuthenticationRequest?>(nil)
        let stub = AuthenticatorStub { request in
            seen.withLock { $0 = request }
            return request.account
        }
        try await withRelay(authenticator: stub) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello(
                Hello(
                    device: DeviceID(rawValue: 7), account: AccountName("alice"), credential: Credential("secret"),
                    agent: "a test"))
        }
        let request = try #require(seen.withLock { $0 })
        #expect(request.account.text == "alice")
        #expect(request.device == DeviceID(rawValue: 7))
        #expect(request.credential == Credential("secret"))
        #expect(request.agent == "a test")
        #expect(request.presentedToken == nil)
    }
}
