import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct AdmittedPeerTests {
    private let now = Instant(nanoseconds: 1_000_000_000)

    private func parts(_ limits: PeerLimits, _ log: EventLog = EventLog()) throws -> RelayParts {
        var configuration = try Relay.Configuration(port: 0)
        configuration.limits = limits
        return RelayParts(configuration, InMemoryStore(), .allowAll, .allowAll, nil, nil, nil, nil, nil, log.note)
    }

    private func prefix(_ text: String) throws -> AddressPrefix { AddressPrefix(try #require(IPAddress(text))) }

    private func asked(_ name: String, device: UInt64 = 1) throws -> AskedPeer {
        AskedPeer(
            AuthenticationRequest(account: try #require(AccountName(name)), device: DeviceID(rawValue: device)))
    }

    private enum Begin: Equatable {
        case decided
        case waits(Duration)
        case refused(Duration?)
    }

    private func begin(_ asked: AskedPeer, _ share: AdmittedPeer?, waited: Duration = .seconds(2)) throws -> Begin {
        var asked = asked
        asked.waited = waited
        return switch try #require(share).decisionBegan(of: asked, now: now) {
        case .decide: .decided
        case .wait(let delay): .waits(delay)
        case .refuse(let notice): .refused(notice.retryAfter)
        }
    }

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
        let alice = try asked("alice")
        let shares = (0..<2).map { _ in AdmittedPeer.admit(nil, to: parts, now: now) }
        #expect(AdmittedPeer.admit(nil, to: parts, now: now) == nil)
        for _ in 0..<2 {
            shares[0]?.authenticationEnded(of: alice, .accepted(Identity(alice.account), final: nil), now: now)
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
        let alice = try asked("alice")
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        for failure in [AuthenticationFailure.forbidden, .redirected(to: "other"), AuthenticationFailure(parts.busy)] {
            share.authenticationEnded(of: alice, .refused(failure), now: now)
            #expect(try begin(alice, share) == .decided)
        }
        share.authenticationEnded(of: alice, .refused(.unauthenticated), now: now)
        #expect(try begin(alice, share) == .refused(.seconds(1)))
    }

    // C-67
    @Test func `a renewal of an account with failures → delayed, not refused and not counted in progress`() throws {
        var limits = PeerLimits()
        limits.maxFailures = 1
        let parts = try parts(limits)
        let (alice, guess) = (try asked("alice"), try asked("alice", device: 2))
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        let other = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        #expect(try begin(alice, share) == .decided)
        share.authenticationEnded(of: alice, .accepted(Identity(alice.account), final: nil), now: now)
        #expect(try begin(guess, other) == .decided)
        #expect(try begin(alice, share, waited: .zero) == .decided)
        other.authenticationEnded(of: guess, .refused(.unauthenticated), now: now)
        #expect(try begin(alice, share, waited: .zero) == .waits(.milliseconds(200)))
        #expect(try begin(guess, other) == .refused(.seconds(1)))
    }

    // C-113
    @Test func `a peer without limits → admitted beyond them, its failures delay the account only`() throws {
        var limits = PeerLimits()
        (limits.maxConnections, limits.maxFailures) = (1, 1)
        var configuration = try Relay.Configuration(port: 0)
        configuration.limits = limits
        configuration.unlimitedPeers = [try #require(IPNetwork("192.0.2.0/24"))]
        let parts = RelayParts(configuration, InMemoryStore(), .allowAll, .allowAll, nil, nil, nil, nil, nil) { _ in }
        let address = try #require(SocketAddress("192.0.2.7:4711"))
        let alice = try asked("alice")
        let shares = (0..<3).map { _ in AdmittedPeer.admit(address, to: parts, now: now) }
        #expect(shares.allSatisfy { $0 != nil })
        for share in shares { share?.authenticationEnded(of: alice, .refused(.unauthenticated), now: now) }
        #expect(try begin(alice, shares[0], waited: .zero) == .waits(.milliseconds(600)))
        #expect(try begin(alice, shares[0]) == .decided)
        let other = SocketAddress(IPAddress(v4: 0xC000_0301), port: 1)
        let outside = (0..<2).map { _ in AdmittedPeer.admit(other, to: parts, now: now) }
        #expect(outside[0] != nil && outside[1] == nil)
    }

    // C-122, Specs/hostile.md row 52
    @Test func `connections of a proxy that states no address yet → no share of its address, and a bound of their own`()
        throws
    {
        var limits = PeerLimits()
        limits.maxConnections = 1
        let parts = try parts(limits)
        let proxy = try #require(SocketAddress("192.0.2.1:4711"))
        func admit(isForwarder: Bool) -> AdmittedPeer? {
            AdmittedPeer.admit(proxy, isForwarder: isForwarder, to: parts, now: now)
        }
        var waiting = (0..<PeerLimiter.maxForwarderCount).map { _ in admit(isForwarder: true) }
        #expect(waiting.allSatisfy { $0?.isForwarder == true })
        #expect(admit(isForwarder: true) == nil)
        let named = admit(isForwarder: false)
        #expect(named?.isForwarder == false && admit(isForwarder: false) == nil)
        waiting.removeLast()
        #expect(admit(isForwarder: true) != nil)
        withExtendedLifetime(named) {}
    }

    // C-67, Specs/hostile.md row 52
    @Test func `a hello after a refused resume → limited and counted like a first one`() throws {
        var limits = PeerLimits()
        limits.maxHandshakes = 2
        limits.maxFailures = 1
        let parts = try parts(limits)
        let (alice, bob) = (try asked("alice"), try asked("bob"))
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        #expect(try begin(bob, share) == .decided)
        share.authenticationEnded(of: bob, .accepted(Identity(bob.account), final: nil), now: now)
        for _ in 0..<2 { share.handshakeResumed() }
        var other = AdmittedPeer.admit(nil, to: parts, now: now)
        #expect(other != nil)
        #expect(AdmittedPeer.admit(nil, to: parts, now: now) == nil)
        other?.authenticationEnded(of: alice, .refused(.unauthenticated), now: now)
        #expect(try begin(alice, share) == .refused(.seconds(1)))
        other = nil
        #expect(try begin(bob, share) == .decided)
        share.authenticationEnded(of: bob, .accepted(Identity(bob.account), final: nil), now: now)
        let next = (0..<2).map { _ in AdmittedPeer.admit(nil, to: parts, now: now) }
        #expect(next.allSatisfy { $0 != nil })
        withExtendedLifetime((share, next)) {}
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, a decision in progress → ended by every verdict, and by the end of its connection`() throws {
        var limits = PeerLimits()
        limits.maxFailures = 1
        let parts = try parts(limits)
        let alice = try asked("alice")
        let share = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        let wait = Begin.waits(.milliseconds(100))
        var other = AdmittedPeer.admit(nil, to: parts, now: now)
        #expect(try begin(alice, other) == .decided)
        #expect(try begin(alice, share) == wait)
        other = nil
        #expect(try begin(alice, share) == .decided)
        let third = try #require(AdmittedPeer.admit(nil, to: parts, now: now))
        #expect(try begin(alice, third) == wait)
        let challenge = AuthenticationVerdict.challenge(try #require(Credential("r=1")), SilentExchange())
        share.authenticationEnded(of: alice, challenge, now: now)
        #expect(try begin(alice, third) == .decided)
        #expect(try begin(alice, share) == wait)
        third.authenticationEnded(of: alice, .refused(AuthenticationFailure(parts.busy)), now: now)
        #expect(try begin(alice, share) == .decided)
        share.authenticationEnded(of: alice, .refused(.unauthenticated), now: now)
        #expect(try begin(alice, share) == .refused(.seconds(1)))
        #expect(try begin(try asked("bob"), third) == .decided)
        third.authenticationEnded(of: alice, .accepted(Identity(alice.account), final: nil), now: now)
        #expect(try begin(try asked("bob"), AdmittedPeer.admit(nil, to: parts, now: now)) == .decided)
    }

    /// An exchange that is not continued.
    private struct SilentExchange: AuthenticationExchange {
        func step(_ message: [UInt8]) async throws -> AuthenticationStep { throw CancellationError() }
    }
}
