import MartletProtocol
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite("What an authenticator may do to a connection")
struct AuthenticatorTests {
    private struct Oracle: Authenticator {
        var answer: @Sendable (AuthenticationRequest) async throws -> AccountName

        func authenticate(_ request: AuthenticationRequest) async throws -> AccountName {
            try await answer(request)
        }
    }

    // C-26
    @Test("let it in under another name")
    func renamed() async throws {
        try await withRelay(authenticator: Oracle { _ in AccountName("guest-1")! }) { _, port in
            let peer = try await WirePeer.connect(to: port)
            #expect(try await peer.hello().account.text == "guest-1")
            #expect(try await peer.open().members.map(\.text) == ["guest-1"])
        }
    }

    // C-27
    @Test("turn it away with words")
    func refused() async throws {
        let notice = Notice(code: .forbidden, reason: "not on a Sunday", retryAfter: .seconds(60))
        try await withRelay(authenticator: Oracle { _ in throw AuthenticationFailure(notice) }) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(Speaker.hello())
            #expect(try await peer.expect(Reject.self).notice == notice)
            #expect(try await peer.farewell() == nil)
            #expect(await relay.statistics.links == 0)
        }
    }

    // C-27
    @Test("fail: the client is told to come back, the operator why")
    func failing() async throws {
        struct DatabaseIsDown: Error {}
        let log = EventLog()
        try await withRelay(authenticator: Oracle { _ in throw DatabaseIsDown() }, onEvent: log.note) { _, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(Speaker.hello())
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

    @Test("take for ever: its task is cancelled when the peer hangs up")
    func hanging() async throws {
        let asked = AsyncStream<Void>.makeStream()
        let cancelled = AsyncStream<Void>.makeStream()
        let oracle = Oracle { _ in
            asked.continuation.yield()
            let never = AsyncStream<Never> { _ in }
            for await _ in never {}
            cancelled.continuation.yield()
            throw CancellationError()
        }
        try await withRelay(authenticator: oracle) { _, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(Speaker.hello())
            #expect(await asked.stream.first { true } != nil)
            await peer.cut()
            #expect(await cancelled.stream.first { true } != nil)
        }
    }

    // C-28
    @Test("say yes too late: the account was revoked meanwhile")
    func revokedMeanwhile() async throws {
        let asked = AsyncStream<Void>.makeStream()
        let answer = AsyncStream<Void>.makeStream()
        let oracle = Oracle { request in
            asked.continuation.yield()
            _ = await answer.stream.first { true }
            return request.account
        }
        try await withRelay(authenticator: oracle) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(Speaker.hello())
            _ = await asked.stream.first { true }
            await relay.revoke(AccountName("alice")!)
            answer.continuation.yield()
            #expect(try await peer.expect(Reject.self).notice.code == .revoked)
            #expect(await relay.statistics.links == 0)
            // Who shows a new credential afterwards is somebody new.
            answer.continuation.yield()
            let again = try await WirePeer.connect(to: port)
            try await again.hello()
        }
    }

    @Test("what it sees is what the client said")
    func request() async throws {
        let seen = Guarded<AuthenticationRequest?>(nil)
        let oracle = Oracle { request in
            seen.withLock { $0 = request }
            return request.account
        }
        try await withRelay(authenticator: oracle) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello(
                Hello(
                    device: DeviceID(rawValue: 7), account: AccountName("alice")!, credential: Credential("secret"),
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
