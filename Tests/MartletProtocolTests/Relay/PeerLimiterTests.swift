import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct PeerLimiterTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let prefix = AddressPrefix(v4: 1)
    private static let other = AddressPrefix(v4: 2)

    private func limiter(
        maxCount: Int = PeerLimiter.maxCount, _ adjust: (inout PeerLimits) -> Void = { _ in }
    ) -> PeerLimiter {
        var limits = PeerLimits()
        adjust(&limits)
        return PeerLimiter(limits, maxCount: maxCount)
    }

    /// Admits a connection and authenticates it.
    private func connect(_ prefix: AddressPrefix, to limiter: inout PeerLimiter) -> PeerLimiter.Answer {
        let answer = limiter.accepted(prefix, now: Self.start)
        if answer == .admit { limiter.handshakeEnded(prefix) }
        return answer
    }

    /// Begins an authentication. The decision about its first message ends at once.
    private func begin(
        _ account: AccountName, from prefix: AddressPrefix = prefix, _ limiter: inout PeerLimiter
    ) -> PeerLimiter.Start {
        defer { limiter.decisionEnded(from: prefix) }
        return limiter.authenticationBegan(of: account, from: prefix, now: Self.start)
    }

    /// Begins the decision about a message that has waited for the delay of its account.
    private func decide(_ limiter: inout PeerLimiter, at now: Instant = start) -> PeerLimiter.Start {
        limiter.decisionBegan(of: .alice, from: Self.prefix, waited: .seconds(2), now: now)
    }

    private func fail(_ count: Int, _ limiter: inout PeerLimiter, at now: Instant = start) {
        for _ in 0..<count { limiter.authenticationFailed(of: .alice, from: Self.prefix, now: now) }
    }

    private func isAdmitted(_ prefix: AddressPrefix, _ limiter: PeerLimiter, at now: Instant) -> Bool {
        var limiter = limiter
        return limiter.accepted(prefix, now: now) == .admit
    }

    // MARK: Connections

    // C-11, Specs/hostile.md row 51
    @Test func `256 connections of an address → the next is refused, until one closes`() {
        var limiter = limiter()
        for _ in 0..<256 { #expect(connect(Self.prefix, to: &limiter) == .admit) }
        #expect(connect(Self.prefix, to: &limiter) == .refuse(report: 1))
        #expect(connect(Self.other, to: &limiter) == .admit)
        limiter.closed(Self.prefix, isHandshake: false)
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        #expect(limiter.refusedCount == 1)
    }

    // C-11
    @Test func `an address connects again after a failure → its connections count after the failure has ended`() {
        var limiter = limiter { $0.maxConnections = 1 }
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        fail(1, &limiter)
        limiter.closed(Self.prefix, isHandshake: false)
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start + .seconds(86_400)))
    }

    // Specs/hostile.md row 52
    @Test func `32 handshakes of an address → the next is refused, until one ends or closes`() {
        var limiter = limiter()
        for _ in 0..<32 { #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit) }
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start))
        limiter.handshakeEnded(Self.prefix)
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start))
        limiter.closed(Self.prefix, isHandshake: true)
        #expect(isAdmitted(Self.prefix, limiter, at: Self.start))
    }

    // Specs/hostile.md row 52
    @Test func `1,024 handshakes in all → an address may have one, and a second again below the bound`() {
        var limiter = limiter()
        for address in 0..<32 as Range<UInt32> {
            for _ in 0..<32 { #expect(limiter.accepted(AddressPrefix(v4: 100 + address), now: Self.start) == .admit) }
        }
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start))
        #expect(isAdmitted(Self.other, limiter, at: Self.start))
        for _ in 0..<2 { limiter.closed(AddressPrefix(v4: 100), isHandshake: true) }
        #expect(isAdmitted(Self.prefix, limiter, at: Self.start))
    }

    // Specs/hostile.md row 52
    @Test func `a handshake that ends, is resumed and ends again → the bound of one handshake in all holds`() {
        var limiter = limiter { $0.maxTotalHandshakes = 1 }
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        limiter.handshakeResumed(Self.prefix)
        limiter.handshakeEnded(Self.prefix)
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start))
    }

    @Test func `refused connections → one report in a second, with their number`() {
        var limiter = limiter { $0.maxConnections = 1 }
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        let answers = [0, 1, 999, 1000, 1001, 2000].map {
            limiter.accepted(Self.prefix, now: Self.start + .milliseconds($0))
        }
        #expect(answers == [1, nil, nil, 3, nil, 2].map { .refuse(report: $0) })
        #expect(limiter.refusedCount == 6)
    }

    @Test func `no limits → nothing is refused or delayed`() {
        var limiter = PeerLimiter(.unlimited)
        fail(100, &limiter)
        for _ in 0..<10_000 { #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit) }
        #expect(
            limiter.authenticationBegan(of: .alice, from: Self.prefix, now: Self.start) == .authenticate(after: .zero))
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, 8 authentications of an address in progress → the next is refused for 1 s, until one ends`() {
        var limiter = limiter()
        for _ in 0..<10 { #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit) }
        #expect(limiter.accepted(Self.other, now: Self.start) == .admit)
        for _ in 0..<8 { #expect(begin(.alice, &limiter) == .authenticate(after: .zero)) }
        #expect(begin(.bob, &limiter) == .refuse(retryAfter: .seconds(1)))
        #expect(begin(.bob, from: Self.other, &limiter) == .authenticate(after: .zero))
        limiter.authenticationEnded(from: Self.prefix)
        #expect(begin(.bob, &limiter) == .authenticate(after: .zero))
        #expect(begin(.bob, &limiter) == .refuse(retryAfter: .seconds(1)))
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, failures since the begin of an exchange → its next message is delayed or refused`() {
        var limiter = limiter()
        for _ in 0..<2 { #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit) }
        fail(1, &limiter)
        #expect(begin(.alice, &limiter) == .authenticate(after: .milliseconds(200)))
        func next(_ waited: Int) -> PeerLimiter.Start {
            defer { limiter.decisionEnded(from: Self.prefix) }
            return limiter.decisionBegan(
                of: .alice, from: Self.prefix, waited: .milliseconds(waited), now: Self.start)
        }
        #expect(next(200) == .authenticate(after: .zero))
        fail(3, &limiter)
        #expect(next(200) == .authenticate(after: .milliseconds(600)))
        #expect(next(900) == .authenticate(after: .zero))
        fail(1, &limiter)
        #expect(next(200) == .refuse(retryAfter: .seconds(1)))
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, decisions of an address at once → as many as failures remain, the others wait`() {
        var limiter = limiter()
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        let wait = PeerLimiter.Start.authenticate(after: .milliseconds(100))
        for _ in 0..<5 { #expect(decide(&limiter) == .authenticate(after: .zero)) }
        #expect(decide(&limiter) == wait)
        limiter.decisionEnded(from: Self.prefix)
        #expect(decide(&limiter) == .authenticate(after: .zero))
        for _ in 0..<5 {
            #expect(decide(&limiter) == wait)
            limiter.decisionEnded(from: Self.prefix)
            fail(1, &limiter)
        }
        #expect(decide(&limiter) == .refuse(retryAfter: .seconds(1)))
        // A refusal that has ended leaves one decision at a time.
        let later = Self.start + .seconds(1)
        #expect(decide(&limiter, at: later) == .authenticate(after: .zero))
        #expect(decide(&limiter, at: later) == wait)
    }

    // C-67
    @Test func `more ends than decisions → no effect`() {
        var limiter = limiter { $0.maxFailures = 1 }
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        limiter.decisionEnded(from: Self.prefix)
        #expect(decide(&limiter) == .authenticate(after: .zero))
        #expect(decide(&limiter) == .authenticate(after: .milliseconds(100)))
    }

    @Test func `more ends than authentications → no effect`() {
        var limiter = limiter { $0.maxAuthentications = 1 }
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        limiter.authenticationEnded(from: Self.prefix)
        #expect(begin(.alice, &limiter) == .authenticate(after: .zero))
        #expect(begin(.alice, &limiter) == .refuse(retryAfter: .seconds(1)))
    }

    @Test func `IPv4 and IPv6 addresses with equal bits → different prefixes`() {
        #expect(AddressPrefix(v4: 7) != AddressPrefix(v6High: 7))
    }

    // MARK: Failures

    // C-67, Specs/hostile.md row 53
    @Test func `failures of an address → refused from the fifth on, for 1 s that doubles up to 60 s`() {
        var limiter = limiter()
        fail(4, &limiter)
        #expect(isAdmitted(Self.prefix, limiter, at: Self.start))
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60] {
            fail(1, &limiter)
            let end = Self.start + .seconds(seconds)
            #expect(!isAdmitted(Self.prefix, limiter, at: end + .nanoseconds(-1)))
            #expect(isAdmitted(Self.prefix, limiter, at: end))
            #expect(isAdmitted(Self.other, limiter, at: Self.start))
        }
    }

    // C-67
    @Test func `a hello on an earlier connection of a refused address → rejected until the end of the refusal`() {
        var limiter = limiter()
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        fail(5, &limiter)
        let now = Self.start + .milliseconds(400)
        #expect(
            limiter.authenticationBegan(of: .bob, from: Self.prefix, now: now)
                == .refuse(retryAfter: .milliseconds(600)))
        #expect(
            limiter.authenticationBegan(of: .bob, from: Self.prefix, now: Self.start + .seconds(1))
                == .authenticate(after: .zero))
    }

    // C-67
    @Test
    func `a minute without a failure after the refusal → the number halves, and further failures count from there`() {
        var limiter = limiter()
        fail(8, &limiter)
        let later = Self.start + .seconds(8 + 60)
        fail(1, &limiter, at: later)
        #expect(!isAdmitted(Self.prefix, limiter, at: later + .milliseconds(999)))
        #expect(isAdmitted(Self.prefix, limiter, at: later + .seconds(1)))
    }

    // C-67
    @Test func `failures of an account → 0.2 s of delay each, at most 2 s, from every address`() {
        var limiter = limiter { $0.maxFailures = .max }
        for count in 1...12 {
            fail(1, &limiter)
            let delay = Duration.milliseconds(200 * min(count, 10))
            #expect(
                limiter.authenticationBegan(of: .alice, from: Self.other, now: Self.start)
                    == .authenticate(after: delay))
        }
        #expect(limiter.delay(of: .bob, now: Self.start) == .zero)
        #expect(limiter.delay(of: .alice, now: Self.start + .seconds(60)) == .milliseconds(1200))
        #expect(limiter.delay(of: .alice, now: Self.start + .seconds(240)) == .zero)
    }

    // MARK: Tables

    @Test func `an address without connections and failures → removed at once`() {
        var limiter = limiter()
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        limiter.closed(Self.prefix, isHandshake: false)
        #expect(limiter.keptCounts == (0, 0))
    }

    @Test func `failures that have ended → address and account are removed, unless it has connections`() {
        var limiter = limiter()
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        fail(1, &limiter)
        limiter.authenticationFailed(of: .bob, from: Self.other, now: Self.start)
        #expect(limiter.keptCounts == (2, 2))
        _ = limiter.accepted(AddressPrefix(v4: 3), now: Self.start + .seconds(60))
        #expect(limiter.keptCounts == (2, 0))
        limiter.closed(Self.prefix, isHandshake: false)
        _ = limiter.accepted(AddressPrefix(v4: 3), now: Self.start + .seconds(60))
        #expect(limiter.keptCounts == (1, 0))
    }

    // Specs/hostile.md row 53
    @Test func `a full table → the address and the account whose failures end first are replaced`() {
        var limiter = limiter(maxCount: 2)
        fail(5, &limiter)
        limiter.authenticationFailed(of: .bob, from: Self.other, now: Self.start)
        limiter.authenticationFailed(of: .carol, from: AddressPrefix(v4: 3), now: Self.start)
        #expect(limiter.keptCounts == (2, 2))
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start))
        #expect(limiter.delay(of: .alice, now: Self.start) == .seconds(1))
        #expect(limiter.delay(of: .bob, now: Self.start) == .zero)
        #expect(limiter.delay(of: .carol, now: Self.start) == .milliseconds(200))
    }

    @Test func `a table full of addresses with connections → none is removed, and further ones are admitted`() {
        var limiter = limiter(maxCount: 2) { $0.maxConnections = 1 }
        for address in 0..<4 as Range<UInt32> {
            #expect(connect(AddressPrefix(v4: address), to: &limiter) == .admit)
        }
        limiter.authenticationFailed(of: .bob, from: Self.other, now: Self.start)
        for address in 0..<4 as Range<UInt32> {
            #expect(!isAdmitted(AddressPrefix(v4: address), limiter, at: Self.start))
            limiter.closed(AddressPrefix(v4: address), isHandshake: false)
        }
        #expect(limiter.keptCounts == (1, 1))
    }

    @Test func `more closes than connections → no effect`() {
        var limiter = limiter { $0.maxConnections = 1 }
        limiter.closed(Self.prefix, isHandshake: true)
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start))
    }
}
