import Martlet
import MartletLink
import MartletRelay
import MartletTransport
import Testing

/// Renewals of tokens before they expire.
@Suite("Renewals of tokens", .timeLimit(.minutes(10)))
struct TokenRenewalTests {
    /// Accepts tokens for a time that ends soon, until one of them renews a connection. The hello of a client has the
    /// name of its program, and a renewal has not.
    private final class Expiring: Authenticator {
        let renewals = Counted()
        private let answer: @Sendable (AuthenticationRequest) throws -> Identity

        init(_ answer: @escaping @Sendable (AuthenticationRequest) throws -> Identity) {
            self.answer = answer
        }

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            guard request.agent == nil else {
                let isRenewed = renewals.value > 0
                return Identity(request.account, expiresAt: isRenewed ? nil : EventLoop.wallClock + 1500)
            }
            renewals.count()
            return try answer(request)
        }
    }

    private func run(
        _ authenticator: Expiring, _ body: @escaping (Client, Counted) async throws -> Void
    ) async throws {
        let calls = Counted()
        try await withRelay(authenticator: authenticator) { relay in
            var configuration = Client.Configuration.hasty
            configuration.agent = "test"
            let alice = try Client(
                to: relay, as: .account("alice", token: { "token \(calls.count())" }), configuration: configuration)
            try await withClient(alice) { try await body($0, calls) }
        }
    }

    // C-71
    @Test func `a token that expires -> the provider is called again, and its token is sent on the connection`()
        async throws
    {
        let authenticator = Expiring { Identity($0.account) }
        try await run(authenticator) { alice, calls in
            let lobby = try await alice.open(room: "lobby")
            await until { authenticator.renewals.value > 0 }
            _ = try await lobby.send("still here").accepted()
            #expect(calls.value >= 2)
            #expect(alice.currentStatus.isOnline)
        }
    }

    // C-66, C-71
    @Test func `a renewal that is refused, or is another account's -> the link is resumed with another token`()
        async throws
    {
        for answer in [
            { _ in throw AuthenticationFailure.unauthenticated }, { _ in Identity(AccountName("bob")) },
        ] as [@Sendable (AuthenticationRequest) throws -> Identity] {
            let authenticator = Expiring(answer)
            try await run(authenticator) { alice, calls in
                let lobby = try await alice.open(room: "lobby")
                await until { authenticator.renewals.value > 0 }
                try await alice.status.first(until: { $0.isOnline && $0.reconnects > 0 })
                _ = try await lobby.send("still here").accepted()
                #expect(alice.currentStatus.resumes > 0)
                #expect(calls.value >= 3)
            }
        }
    }
}
