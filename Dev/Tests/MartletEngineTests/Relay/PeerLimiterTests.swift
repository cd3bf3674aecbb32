import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

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

    private func peer(
        _ account: AccountName, device: UInt64 = 1, from prefix: AddressPrefix = prefix
    ) -> PeerLimiter.Peer {
        PeerLimiter.Peer(account, DeviceID(rawValue: device), from: prefix)
    }

    /// What a message that has waited for the delay of its account does.
    private enum Begin: Equatable {
        case decided
        case waits(Duration)
        case refused(Duration?)
    }

    /// Begins the decision about a message.
    private func begin(
        _ peer: PeerLimiter.Peer, _ limiter: inout PeerLimiter, waited: Duration = .seconds(2), at now: Instant = start
    ) -> Begin {
        switch limiter.decisionBegan(of: peer, waited: waited, now: now) {
        case .decide: .decided
        case .wait(let delay): .waits(delay)
        case .refuse(let notice): .refused(notice.retryAfter)
        }
    }

    private func decision(_ peer: PeerLimiter.Peer, _ limiter: inout PeerLimiter) throws -> PeerLimiter.Decision {
        guard case .decide(let decision) = limiter.decisionBegan(of: peer, waited: .seconds(2), now: Self.start) else {
            throw CancellationError()
        }
        return decision
    }

    private func fail(_ count: Int, _ limiter: inout PeerLimiter, at now: Instant = start) {
        for _ in 0..<count { limiter.authenticationFailed(of: peer(.alice), now: now) }
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
    @Test func `128 handshakes of an address → the next is refused, until one ends or closes`() {
        var limiter = limiter()
        for _ in 0..<128 { #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit) }
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
        for address in 0..<8 as Range<UInt32> {
            for _ in 0..<128 { #expect(limiter.accepted(AddressPrefix(v4: 100 + address), now: Self.start) == .admit) }
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
        #expect(begin(peer(.alice), &limiter, waited: .zero) == .decided)
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, failures since the start of an exchange → its next message is delayed or refused`() throws {
        var limiter = limiter()
        for _ in 0..<2 { #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit) }
        fail(1, &limiter)
        #expect(begin(peer(.alice), &limiter, waited: .zero) == .waits(.milliseconds(200)))
        limiter.decisionEnded(try decision(peer(.alice), &limiter))
        fail(3, &limiter)
        #expect(begin(peer(.alice), &limiter, waited: .milliseconds(200)) == .waits(.milliseconds(600)))
        fail(1, &limiter)
        #expect(begin(peer(.alice), &limiter, waited: .milliseconds(200)) == .refused(.seconds(1)))
    }

    // C-67, Specs/hostile.md row 64
    @Test func `row 64, decisions of an account at once → as many as failures remain, the others wait`() throws {
        var limiter = limiter()
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        let wait = Begin.waits(.milliseconds(100))
        var decisions: [PeerLimiter.Decision] = []
        for _ in 0..<5 { decisions.append(try decision(peer(.alice), &limiter)) }
        #expect(begin(peer(.alice), &limiter) == wait)
        limiter.decisionEnded(decisions.removeLast())
        decisions.append(try decision(peer(.alice), &limiter))
        for decision in decisions {
            #expect(begin(peer(.alice), &limiter) == wait)
            limiter.decisionEnded(decision)
            fail(1, &limiter)
        }
        #expect(begin(peer(.alice), &limiter) == .refused(.seconds(1)))
        // A refusal that has ended leaves one decision at a time.
        let later = Self.start + .seconds(1)
        #expect(begin(peer(.alice), &limiter, at: later) == .decided)
        #expect(begin(peer(.alice), &limiter, at: later) == wait)
    }

    // C-113, Specs/hostile.md row 104
    @Test func `decisions about new accounts of an address at once → as many as failures remain to it`() throws {
        var limiter = limiter { $0.failureBurst = 2 }
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        let first = try decision(peer(.alice), &limiter)
        #expect(begin(peer(.bob), &limiter) == .decided)
        #expect(begin(peer(.carol), &limiter) == .waits(.milliseconds(100)))
        limiter.authenticationSucceeded(of: peer(.carol, device: 9), now: Self.start)
        #expect(begin(peer(.carol), &limiter) == .decided)
        limiter.decisionEnded(first)
        limiter.authenticationFailed(of: peer(.alice), now: Self.start)
        let dave = peer(.named("dave"))
        #expect(begin(dave, &limiter) == .waits(.milliseconds(100)))
        #expect(begin(dave, &limiter, at: Self.start + .seconds(2)) == .decided)
    }

    // C-113
    @Test func `a sign-in that follows an earlier one → it counts for a day, from the later one on`() {
        var limiter = limiter { $0.failureBurst = 1 }
        for hour in [0, 20] {
            limiter.authenticationSucceeded(of: peer(.carol), now: Self.start + .seconds(3600 * hour))
        }
        func start(afterHours hours: Int) -> Begin {
            var (copy, now) = (limiter, Self.start + .seconds(3600 * hours))
            #expect(copy.accepted(Self.prefix, now: now) == .admit)
            #expect(begin(peer(.bob), &copy, at: now) == .decided)
            return begin(peer(.carol), &copy, at: now)
        }
        #expect(start(afterHours: 43) == .decided)
        #expect(start(afterHours: 45) == .waits(.milliseconds(100)))
    }

    // C-113
    @Test func `a message that has waited 6 s for others → refused, with the reason`() {
        var limiter = limiter { $0.failureBurst = 1 }
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        #expect(begin(peer(.bob), &limiter) == .decided)
        #expect(begin(peer(.alice), &limiter, waited: .milliseconds(5_999)) == .waits(.milliseconds(100)))
        #expect(
            limiter.decisionBegan(of: peer(.alice), waited: .seconds(6), now: Self.start)
                == .refuse(
                    Notice(
                        code: .serverBusy,
                        reason: "too many sign-ins from this address have failed or are in progress",
                        retryAfter: .seconds(1))))
    }

    // C-67
    @Test func `a decision that ends twice → no effect`() throws {
        var limiter = limiter { $0.maxFailures = 1 }
        #expect(limiter.accepted(Self.prefix, now: Self.start) == .admit)
        let first = try decision(peer(.alice), &limiter)
        for _ in 0..<2 { limiter.decisionEnded(first) }
        #expect(begin(peer(.alice), &limiter) == .decided)
        #expect(begin(peer(.alice), &limiter) == .waits(.milliseconds(100)))
    }

    // C-67, C-113
    @Test func `a renewal, or an address without limits → the delay of the account only`() {
        var limiter = limiter { $0.maxFailures = 1 }
        for _ in 0..<2 { limiter.authenticationFailed(of: .alice, now: Self.start) }
        limiter.authenticationFailed(of: peer(.bob), now: Self.start)
        func start(_ account: AccountName, _ waited: Int) -> PeerLimiter.Start {
            limiter.unlimitedDecisionBegan(of: account, waited: .milliseconds(waited), now: Self.start)
        }
        #expect(start(.alice, 0) == .wait(.milliseconds(400)))
        guard case .decide(let decision) = start(.alice, 400) else { return #expect(Bool(false)) }
        limiter.decisionEnded(decision)
        guard case .decide = start(.bob, 200) else { return #expect(Bool(false)) }
        #expect(limiter.keptCounts == .init(prefixes: 1, pairs: 1, accounts: 2))
    }

    @Test func `IPv4 and IPv6 addresses with equal bits → different prefixes`() {
        #expect(AddressPrefix(v4: 7) != AddressPrefix(v6High: 7))
    }

    // MARK: Failures

    // C-67, Specs/hostile.md row 53
    @Test func `failures of an account → refused at the address from the fifth on, for 1 s up to 60 s`() {
        var limiter = limiter { $0.maxAuthenticationDelay = .zero }
        fail(4, &limiter)
        func start(_ peer: PeerLimiter.Peer, _ now: Instant) -> Begin {
            var copy = limiter
            return begin(peer, &copy, at: now)
        }
        #expect(start(peer(.alice), Self.start) == .decided)
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60] {
            fail(1, &limiter)
            let end = Self.start + .seconds(seconds)
            #expect(start(peer(.alice), end + .nanoseconds(-1)) == .refused(.milliseconds(1)))
            #expect(start(peer(.alice), end) == .decided)
            #expect(start(peer(.alice, from: Self.other), Self.start) == .decided)
            #expect(start(peer(.bob), Self.start) == .decided)
            #expect(isAdmitted(Self.prefix, limiter, at: Self.start))
        }
    }

    // C-67
    @Test func `a refused hello → the reason, and the duration of the refusal`() {
        var limiter = limiter()
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        fail(5, &limiter)
        #expect(
            limiter.decisionBegan(of: peer(.alice), waited: .zero, now: Self.start + .milliseconds(400))
                == .refuse(
                    Notice(
                        code: .serverBusy, reason: "too many sign-ins of this account from this address have failed",
                        retryAfter: .milliseconds(600))))
    }

    // C-67
    @Test
    func `a minute without a failure after the refusal → the number halves, and further failures count from there`() {
        var limiter = limiter()
        fail(8, &limiter)
        let later = Self.start + .seconds(8 + 60)
        fail(1, &limiter, at: later)
        #expect(begin(peer(.alice), &limiter, at: later + .milliseconds(999)) == .refused(.milliseconds(1)))
        #expect(begin(peer(.alice), &limiter, at: later + .seconds(1)) == .decided)
    }

    // C-67
    @Test func `failures of an account → 0.2 s of delay each, at most 2 s, from every address`() {
        var limiter = limiter { $0.maxFailures = .max }
        for count in 1...12 {
            fail(1, &limiter)
            let delay = Duration.milliseconds(200 * min(count, 10))
            #expect(begin(peer(.alice, from: Self.other), &limiter, waited: .zero) == .waits(delay))
        }
        #expect(limiter.delay(of: .bob, now: Self.start) == .zero)
        #expect(limiter.delay(of: .alice, now: Self.start + .seconds(60)) == .milliseconds(1200))
        #expect(limiter.delay(of: .alice, now: Self.start + .seconds(240)) == .zero)
    }

    // MARK: Tables

    @Test func `an address without connections and failures → removed at once`() throws {
        var limiter = limiter()
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        limiter.decisionEnded(try decision(peer(.alice), &limiter))
        limiter.closed(Self.prefix, isHandshake: false)
        #expect(limiter.keptCounts == .init())
    }

    @Test func `failures that have ended → address, pair and account are removed, unless it has connections`() {
        var limiter = limiter()
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        fail(1, &limiter)
        limiter.authenticationFailed(of: peer(.bob, from: Self.other), now: Self.start)
        #expect(limiter.keptCounts == .init(prefixes: 2, pairs: 2, accounts: 2))
        _ = limiter.accepted(AddressPrefix(v4: 3), now: Self.start + .seconds(60))
        #expect(limiter.keptCounts == .init(prefixes: 2))
        limiter.closed(Self.prefix, isHandshake: false)
        _ = limiter.accepted(AddressPrefix(v4: 3), now: Self.start + .seconds(60))
        #expect(limiter.keptCounts == .init(prefixes: 1))
    }

    // Specs/hostile.md row 53
    @Test func `full tables → what ends first is replaced`() {
        var limiter = limiter(maxCount: 2)
        fail(5, &limiter)
        for (account, address) in [(AccountName.bob, 2), (.carol, 3)] as [(AccountName, UInt32)] {
            limiter.authenticationFailed(of: peer(account, from: AddressPrefix(v4: address)), now: Self.start)
        }
        #expect(limiter.keptCounts == .init(prefixes: 2, pairs: 2, accounts: 2))
        #expect(begin(peer(.alice), &limiter) == .refused(.seconds(1)))
        #expect(limiter.delay(of: .alice, now: Self.start) == .seconds(1))
        #expect(limiter.delay(of: .bob, now: Self.start) == .zero)
        #expect(limiter.delay(of: .carol, now: Self.start) == .milliseconds(200))
        for number in 0..<3 as Range<UInt64> {
            let now = Self.start + .seconds(Int(number))
            limiter.authenticationSucceeded(of: peer(.bob, device: number), now: now)
        }
        #expect(limiter.keptCounts.authenticated == 2)
    }

    @Test func `tables full of addresses with connections, pairs with decisions → none is removed`() {
        var limiter = limiter(maxCount: 2) { $0.maxConnections = 1 }
        for address in 0..<4 as Range<UInt32> {
            #expect(connect(AddressPrefix(v4: address), to: &limiter) == .admit)
            #expect(begin(peer(.alice, from: AddressPrefix(v4: address)), &limiter) == .decided)
        }
        #expect(limiter.keptCounts == .init(prefixes: 4, pairs: 4))
        for address in 0..<4 as Range<UInt32> {
            #expect(!isAdmitted(AddressPrefix(v4: address), limiter, at: Self.start))
            limiter.closed(AddressPrefix(v4: address), isHandshake: false)
        }
        #expect(limiter.keptCounts.prefixes == 0)
    }

    @Test func `more closes than connections → no effect`() {
        var limiter = limiter { $0.maxConnections = 1 }
        limiter.closed(Self.prefix, isHandshake: true)
        #expect(connect(Self.prefix, to: &limiter) == .admit)
        #expect(!isAdmitted(Self.prefix, limiter, at: Self.start))
    }
}
