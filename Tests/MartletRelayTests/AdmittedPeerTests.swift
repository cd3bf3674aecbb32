import MartletProtocol
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct AdmittedPeerTests {
    private let now = Instant(nanoseconds: 1_000_000_000)

    private func parts(_ limits: PeerLimits, _ log: EventLog = EventLog()) throws -> RelayParts {
        var configuration = try Relay.Configuration(port: 0)
        configuration.limits = limits
        return RelayParts(configuration, InMemoryStore(), .allowAll, .allowAll, nil, nil, nil, log.note)
    }

    private func prefix(_ text: String) throws -> AddressPrefix { AddressPrefix(try #require(IPAddress(text))) }

    @Test func `IPv4 addresses → equal prefixes for equal addresses only`() throws {
        #expect(try prefix("192.0.2.1") == prefix("192.0.2.1"))
        #expect(try prefix("192.0.2.1") != prefix("192.0.2.2"))
    }

    // Specs/hostile.md row 51
    @Test func `IPv6 addresses → equal prefixes for equal networks of 64 bits only`() throws {
        #expect(try prefix("2001:db8::1") == prefix("2001:db8:0:0:ffff::2"))
        #expect(try prefix("2001:db8::1") != prefix("2001:db8:0:1::1"))
        #expect(try prefix("::1") != prefix("0.0.0.1"))
    }

    // C-11
    @Test func `a released share → the address has room again`() throws {
        var limits = PeerLimits()
        limits.maxConnections = 1
        let log = EventLog()
        let parts = try parts(limits, log)
        let address = try #require(SocketAddress("192.0.2.1:4711"))
        var first = AdmittedPeer.admit(address, to: parts, now: now)
        #expect(first != nil)
        #expect(AdmittedPeer.admit(address, to: parts, now: now) == nil)
        first = nil
        #expect(AdmittedPeer.admit(address, to: parts, now: now) != nil)
        #expect(
            log.all.contains { if case .connectionsRefused(1, latest: address) = $0 { true } else { false } })
    }

    // Specs/hostile.md row 52
    @Test func `a share that was authenticated twice → one handshake less`() throws {
        var limits = PeerLimits()
        limits.maxHandshakes = 2
        let parts = try parts(limits)
        let account = try #require(AccountName("alice"))
        let shares = (0..<2).map { _ in AdmittedPeer.admit(nil, to: parts, now: now) }
        #expect(AdmittedPeer.admit(nil, to: parts, now: now) == nil)
        for _ in 0..<2 {
            shares[0]?.authenticationEnded(of: account, .accepted(Identity(account), final: nil), now: now)
        }
        let third = AdmittedPeer.admit(nil, to: parts, now: now)
        #expect(third != nil)
        #expect(AdmittedPeer.admit(nil, to: parts, now: now) == nil)
        withExtendedLifetime((shares, third)) {}
    }

    // C-67
    @Test func `refusals other than unauthenticated → not counted as guesses`() throws {
        var limits = PeerLimits()
        limits.maxFailures = 1
        let parts = try parts(limits)
        let account = try #require(AccountName("alice"))
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        for failure in [AuthenticationFailure.forbidden, .redirected(to: "other"), AuthenticationFailure(parts.busy)] {
            share.authenticationEnded(of: account, .refused(failure), now: now)
            #expect(share.authenticationBegan(of: account, now: now) == .authenticate(after: .zero))
        }
        share.authenticationEnded(of: account, .refused(.unauthenticated), now: now)
        #expect(share.authenticationBegan(of: account, now: now) == .refuse(retryAfter: .seconds(1)))
    }

    // C-67
    @Test func `a renewal at a refused address → delayed by its account, not refused and not counted`() throws {
        var limits = PeerLimits()
        limits.maxFailures = 1
        limits.maxAuthentications = 1
        let parts = try parts(limits)
        let (alice, bob) = (try #require(AccountName("alice")), try #require(AccountName("bob")))
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        let other = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        #expect(share.authenticationBegan(of: alice, now: now) == .authenticate(after: .zero))
        share.authenticationEnded(of: alice, .accepted(Identity(alice), final: nil), now: now)
        #expect(other.authenticationBegan(of: bob, now: now) == .authenticate(after: .zero))
        #expect(share.authenticationBegan(of: alice, now: now) == .authenticate(after: .zero))
        other.authenticationEnded(of: alice, .refused(.unauthenticated), now: now)
        #expect(share.authenticationBegan(of: alice, now: now) == .authenticate(after: .milliseconds(200)))
        #expect(share.decisionBegan(of: bob, waited: .zero, now: now) == .authenticate(after: .zero))
        #expect(other.decisionBegan(of: bob, waited: .zero, now: now) == .refuse(retryAfter: .seconds(1)))
    }

    // C-67, Specs/hostile.md row 52
    @Test func `a hello after a refused resume → limited and counted like a first one`() throws {
        var limits = PeerLimits()
        limits.maxHandshakes = 2
        limits.maxFailures = 1
        let parts = try parts(limits)
        let (alice, bob) = (try #require(AccountName("alice")), try #require(AccountName("bob")))
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        #expect(share.authenticationBegan(of: bob, now: now) == .authenticate(after: .zero))
        share.authenticationEnded(of: bob, .accepted(Identity(bob), final: nil), now: now)
        for _ in 0..<2 { share.handshakeResumed() }
        var other = AdmittedPeer.admit(nil, to: parts, now: now)
        #expect(other != nil)
        #expect(AdmittedPeer.admit(nil, to: parts, now: now) == nil)
        other?.authenticationEnded(of: alice, .refused(.unauthenticated), now: now)
        #expect(share.authenticationBegan(of: alice, now: now) == .refuse(retryAfter: .seconds(1)))
        #expect(share.decisionBegan(of: alice, waited: .zero, now: now) == .refuse(retryAfter: .seconds(1)))
        other = nil
        let later = now + .seconds(1)
        #expect(share.authenticationBegan(of: bob, now: later) == .authenticate(after: .zero))
        share.authenticationEnded(of: bob, .accepted(Identity(bob), final: nil), now: later)
        let next = (0..<2).map { _ in AdmittedPeer.admit(nil, to: parts, now: later) }
        #expect(next.allSatisfy { $0 != nil })
        withExtendedLifetime((share, next)) {}
    }

    // Specs/hostile.md row 64
    @Test func `row 64, an authentication in progress → ended by a verdict, and by the end of its connection`() throws {
        var limits = PeerLimits()
        limits.maxAuthentications = 1
        let parts = try parts(limits)
        let account = try #require(AccountName("alice"))
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        var other = AdmittedPeer.admit(nil, to: parts, now: now)
        let busy = PeerLimiter.Start.refuse(retryAfter: .seconds(1))
        #expect(other?.authenticationBegan(of: account, now: now) == .authenticate(after: .zero))
        #expect(share.authenticationBegan(of: account, now: now) == busy)
        other = nil
        #expect(share.authenticationBegan(of: account, now: now) == .authenticate(after: .zero))
        let third = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        #expect(third.authenticationBegan(of: account, now: now) == busy)
        share.authenticationEnded(of: account, .refused(AuthenticationFailure(parts.busy)), now: now)
        #expect(third.authenticationBegan(of: account, now: now) == .authenticate(after: .zero))
        withExtendedLifetime(share) {}
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, a decision in progress → ended by every verdict, and by the end of its connection`() throws {
        var limits = PeerLimits()
        limits.maxFailures = 1
        let parts = try parts(limits)
        let account = try #require(AccountName("alice"))
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        let decided = PeerLimiter.Start.authenticate(after: .zero)
        let wait = PeerLimiter.Start.authenticate(after: .milliseconds(100))
        var other = AdmittedPeer.admit(nil, to: parts, now: now)
        #expect(other?.authenticationBegan(of: account, now: now) == decided)
        #expect(share.authenticationBegan(of: account, now: now) == wait)
        other = nil
        #expect(share.decisionBegan(of: account, waited: .zero, now: now) == decided)
        let third = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        #expect(third.authenticationBegan(of: account, now: now) == wait)
        let challenge = AuthenticationVerdict.challenge(try #require(Credential("r=1")), SilentExchange())
        share.authenticationEnded(of: account, challenge, now: now)
        #expect(third.decisionBegan(of: account, waited: .zero, now: now) == decided)
        #expect(share.decisionBegan(of: account, waited: .zero, now: now) == wait)
        third.authenticationEnded(of: account, .accepted(Identity(account), final: nil), now: now)
        #expect(share.decisionBegan(of: account, waited: .zero, now: now) == decided)
        share.authenticationEnded(of: account, .refused(AuthenticationFailure(parts.busy)), now: now)
        #expect(share.authenticationBegan(of: account, now: now) == decided)
        share.authenticationEnded(of: account, .refused(.unauthenticated), now: now)
        #expect(share.authenticationBegan(of: account, now: now) == .refuse(retryAfter: .seconds(1)))
    }

    /// An exchange that is not continued.
    private struct SilentExchange: AuthenticationExchange {
        func step(_ message: [UInt8]) async throws -> AuthenticationStep { throw CancellationError() }
    }
}
