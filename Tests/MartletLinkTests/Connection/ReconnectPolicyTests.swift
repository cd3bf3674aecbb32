import MartletLink
import MartletWire
import Testing

@Suite struct ReconnectPolicyTests {
    private let half: UInt64 = 1 << 63
    private let wifi = PathStatus(isUp: true, kind: .wifi, network: NetworkID(rawValue: 1))
    private let wired = PathStatus(isUp: true, kind: .wired, network: NetworkID(rawValue: 2))
    private let cellular = PathStatus(isUp: true, kind: .cellular, network: NetworkID(rawValue: 3))

    /// Returns a policy with distinct durations, other than the defaults.
    private func policy() -> ReconnectPolicy {
        ReconnectPolicy(
            configuration: .init(
                base: .seconds(1), cap: .seconds(30), peerClosedBase: .seconds(12), healthyAfter: .seconds(10)))
    }

    private func at(_ duration: Duration) -> Instant { .zero + duration }

    // C-55
    @Test func `the ceiling of a wait doubles from the base to the cap`() {
        var policy = self.policy()
        let ceilings = (1...7).map { attempt in
            let answer = policy.failed(.unreachable, now: .zero, random: half)
            guard case .wait(let until, .backoff(attempt)) = answer else { return Duration.zero }
            return (until - .zero) * 2
        }
        #expect(ceilings == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
        #expect(policy.attempt == 7)
    }

    // C-55
    @Test func `the default ceiling doubles from 250 ms to 24 s, and begins at 12 s after a close by the server`() {
        func ceilings(_ policy: inout ReconnectPolicy, after first: ConnectionFailure) -> [Duration] {
            (0..<9).map { number in
                _ = policy.failed(number == 0 ? first : .unreachable, now: .zero, random: half)
                return policy.deadline.map { ($0 - .zero) * 2 } ?? .zero
            }
        }
        var lost = ReconnectPolicy()
        lost.established(now: .zero)
        let own = [0.25, 0.5, 1, 2, 4, 8, 16, 24, 24].map { Duration.seconds($0) }
        #expect(ceilings(&lost, after: .lost) == own)
        var closed = ReconnectPolicy()
        closed.established(now: .zero)
        let spread = [12, 24, 24, 24, 24, 24, 24, 24, 24].map { Duration.seconds($0) }
        #expect(ceilings(&closed, after: .closedByPeer) == spread)
        #expect(ReconnectPolicy.Configuration().healthyAfter == .seconds(1))
    }

    /// Returns the waits at half the ceiling when successive connections of duration `each` end.
    private func waits(
        _ policy: inout ReconnectPolicy, _ failures: [ConnectionFailure], resumed: Bool = true, each: Duration
    ) -> [Duration] {
        var now = Instant.zero
        return failures.map { failure in
            now = now + each
            _ = policy.failed(failure, now: now, random: half)
            let wait = policy.deadline.map { $0 - now } ?? .zero
            _ = policy.deadlinePassed(now: now + wait)
            now = now + wait
            policy.established(resumed: resumed, now: now)
            return wait
        }
    }

    // C-55
    @Test func `each close by the peer of a resumed link halves the next ceiling, down to the base`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        let waits = waits(&policy, Array(repeating: .closedByPeer, count: 8), each: .seconds(3))
        #expect(waits == [6000, 3000, 1500, 750, 375, 187.5, 125, 125].map { .milliseconds($0) })
    }

    // C-55
    @Test func `a new link, a goaway and a connection of a minute restore the whole ceiling`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        _ = waits(&policy, Array(repeating: .closedByPeer, count: 4), each: .seconds(3))
        let leaving = policy.failed(.refused(retryAfter: nil), now: at(.seconds(600)), random: half)
        #expect(leaving == .wait(until: at(.seconds(606)), .backoff(attempt: 1)))
        for (resumed, each) in [(false, Duration.seconds(3)), (true, .seconds(60))] {
            var policy = ReconnectPolicy()
            policy.established(now: .zero)
            let waits = waits(&policy, Array(repeating: .closedByPeer, count: 3), resumed: resumed, each: each)
            #expect(waits == Array(repeating: .seconds(6), count: 3))
        }
    }

    // C-55
    @Test func `a loss detected by the client waits for the base, and keeps the ceiling of a close by the peer`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        let waits = waits(&policy, [.lost, .lost, .closedByPeer], each: .seconds(3))
        #expect(waits == [125, 125, 6000].map { .milliseconds($0) })
    }

    /// Returns the ceilings of the waits after a close by the peer and then another failure, again and again.
    private func ceilings(
        _ policy: inout ReconnectPolicy, then failure: ConnectionFailure, every interval: Duration = .zero, count: Int
    ) -> [Duration] {
        var now = Instant.zero
        return (0..<count).map { number in
            _ = policy.failed(number == 0 ? .closedByPeer : failure, now: now, random: half)
            defer { now = now + interval }
            return policy.deadline.map { ($0 - now) * 2 } ?? .zero
        }
    }

    // C-93
    @Test(arguments: [
        (Duration.milliseconds(32), [0.25, 0.5, 1, 2, 4, 8, 16, 24]), (.seconds(2), [2, 4, 8, 16, 24, 24, 24, 24]),
        (.seconds(24), [24, 24, 24, 24, 24, 24, 24, 24]), (.seconds(3600), [24, 24, 24, 24, 24, 24, 24, 24]),
    ])
    func `the spread of the server replaces 12 s, at least the base and at most the cap`(
        spread: Duration, ceilings: [Double]
    ) {
        var policy = ReconnectPolicy()
        policy.established(spread: spread, now: .zero)
        let result = self.ceilings(&policy, then: .unreachable, count: 8)
        #expect(result == ceilings.map { .seconds($0) })
        policy.established(spread: spread, now: .zero)
        let leaving = policy.failed(.refused(retryAfter: .zero), now: at(.seconds(2)), random: half)
        let whole = min(max(spread, .milliseconds(250)), .seconds(24))
        #expect(leaving == .wait(until: at(.seconds(2) + whole / 2), .serverRequired))
    }

    // C-93
    @Test func `a spread in a pong replaces that of welcome, and a welcome without one restores 12 s`() {
        var policy = ReconnectPolicy()
        policy.established(spread: .milliseconds(32), now: .zero)
        policy.setSpread(.seconds(4))
        #expect(ceilings(&policy, then: .lost, count: 1) == [.seconds(4)])
        var silent = ReconnectPolicy()
        silent.established(spread: .milliseconds(32), now: .zero)
        silent.established(now: .zero)
        #expect(ceilings(&silent, then: .lost, count: 1) == [.seconds(12)])
    }

    // C-94
    @Test(arguments: [
        (Duration.milliseconds(32), [0.25, 0.5, 1, 1.5, 1.5, 1.5]), (.seconds(1), [1, 2, 2, 2, 2, 2]),
        (.seconds(16), [16, 24, 24, 24, 24, 24]),
    ])
    func `while no server listens the ceiling rises to 1.5 s, or to twice the spread`(
        spread: Duration, ceilings: [Double]
    ) {
        var policy = ReconnectPolicy()
        policy.established(spread: spread, now: .zero)
        let result = self.ceilings(&policy, then: .notListening, count: 6)
        #expect(result == ceilings.map { .seconds($0) })
    }

    // C-94
    @Test func `5 min after the loss the ceiling rises to the cap although no server listens, with server after a day`()
    {
        var policy = ReconnectPolicy()
        policy.established(spread: .zero, now: .zero)
        let waits = ceilings(&policy, then: .notListening, every: .seconds(75), count: 6)
        #expect(waits == [0.25, 0.5, 1, 1.5, 4, 8].map { .seconds($0) })
        var server = ReconnectPolicy(configuration: .server)
        server.established(spread: .zero, now: .zero)
        let longWaits = ceilings(&server, then: .notListening, every: .seconds(20_000), count: 6)
        #expect(longWaits == [0.25, 0.5, 1, 1.5, 1.5, 8].map { .seconds($0) })
        var calm = ReconnectPolicy(configuration: .calm)
        calm.established(spread: .zero, now: .zero)
        #expect(ceilings(&calm, then: .notListening, count: 10).last == .seconds(300))
    }

    // C-94
    @Test func `the ceiling rises to the cap while no server listens, with a server that has named no spread`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        #expect(ceilings(&policy, then: .notListening, count: 3) == [12, 24, 24].map { .seconds($0) })
    }

    // C-95
    @Test func `the first pending message shortens a wait to below 3 s, once`() {
        var policy = ReconnectPolicy()
        policy.established(spread: .zero, now: .zero)
        _ = ceilings(&policy, then: .unreachable, count: 8)
        #expect(policy.deadline == at(.seconds(12)))
        let shorter = policy.setPending(true, now: at(.seconds(1)), random: half)
        #expect(shorter == .wait(until: at(.milliseconds(2500)), .backoff(attempt: 8)))
        #expect(policy.setPending(false, now: at(.seconds(1)), random: 0) == .none)
        #expect(policy.setPending(true, now: at(.seconds(1)), random: 0) == .none)
        #expect(policy.deadline == at(.milliseconds(2500)))
        _ = policy.failed(.unreachable, now: at(.seconds(3)), random: half)
        #expect(policy.deadline == at(.milliseconds(4500)))
    }

    // C-95
    @Test func `a pending message shortens no wait of a large server, of retryAfter, or that ends earlier`() {
        var large = ReconnectPolicy()
        large.established(spread: .seconds(16), now: .zero)
        _ = large.failed(.closedByPeer, now: .zero, random: half)
        #expect(large.setPending(true, now: .zero, random: 0) == .none)
        var asked = ReconnectPolicy()
        asked.established(spread: .zero, now: .zero)
        _ = asked.failed(.refused(retryAfter: .seconds(60)), now: .zero, random: half)
        #expect(asked.setPending(true, now: .zero, random: 0) == .none)
        var early = ReconnectPolicy()
        early.established(spread: .zero, now: .zero)
        _ = early.failed(.lost, now: .zero, random: half)
        #expect(early.setPending(true, now: .zero, random: 0) == .none)
        #expect(early.deadline == at(.milliseconds(125)))
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `random waits do not exceed the cap`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var policy = self.policy()
        var longest = Duration.zero
        for _ in 0..<500 {
            guard case .wait(let until, _) = policy.failed(.lost, now: .zero, random: random.next()) else {
                Issue.record("no wait")
                return
            }
            longest = max(longest, until - .zero)
        }
        #expect(longest < policy.configuration.cap)
        #expect(longest > policy.configuration.cap * 9 / 10)
        #expect(policy.attempt == 500)
    }

    @Test func `an attempt is due at the deadline, once`() {
        var policy = self.policy()
        _ = policy.failed(.lost, now: .zero, random: half)
        #expect(policy.deadline == at(.milliseconds(500)))
        #expect(policy.state == .waiting(until: at(.milliseconds(500)), .backoff(attempt: 1)))
        #expect(policy.deadlinePassed(now: at(.milliseconds(499))) == .none)
        #expect(policy.deadlinePassed(now: at(.milliseconds(500))) == .now(.backoff(attempt: 1)))
        #expect(policy.deadlinePassed(now: at(.milliseconds(500))) == .none)
        #expect(policy.state == .idle)
        #expect(policy.deadline == nil)
    }

    // C-56
    @Test func `a healthy connection resets the count of attempts, a short one does not`() {
        var policy = self.policy()
        _ = policy.failed(.unreachable, now: .zero, random: half)
        _ = policy.failed(.unreachable, now: .zero, random: half)
        policy.established(now: .zero)
        let soon = at(.milliseconds(9999))
        #expect(policy.failed(.lost, now: soon, random: half) == .wait(until: soon + .seconds(2), .backoff(attempt: 3)))
        policy.established(now: soon)
        let late = soon + .seconds(10)
        let answer = policy.failed(.lost, now: late, random: half)
        #expect(answer == .wait(until: late + .milliseconds(500), .backoff(attempt: 1)))
    }

    @Test func `a new Wi-Fi, wired or loopback path → an attempt at once`() {
        let loopback = PathStatus(isUp: true, kind: .loopback, network: NetworkID(rawValue: 4))
        for path in [wifi, wired, loopback] {
            var policy = pausedPolicy()
            #expect(policy.pathChanged(to: path, now: at(.seconds(60))) == .now(.pathUp(path.kind)))
            #expect(policy.state == .idle)
        }
    }

    // C-57
    @Test func `a new cellular path or one of unknown kind → an attempt after 1 s`() {
        for kind in [PathKind.cellular, .other] {
            var policy = pausedPolicy()
            let now = at(.seconds(5))
            let path = PathStatus(isUp: true, kind: kind, network: NetworkID(rawValue: 3))
            #expect(policy.pathChanged(to: path, now: now) == .wait(until: now + .seconds(1), .pathUp(kind)))
            #expect(policy.deadlinePassed(now: now + .seconds(1)) == .now(.pathUp(kind)))
        }
    }

    // C-109
    @Test func `no path → paused, and an attempt 10 s after that of the wait`() {
        var policy = self.policy()
        _ = policy.failed(.lost, now: .zero, random: half)
        #expect(policy.pathChanged(to: .down, now: .zero) == paused(until: .milliseconds(10_500)))
        #expect(policy.state == .paused(until: at(.milliseconds(10_500)), .noPath))
        #expect(policy.pathChanged(to: .down, now: at(.seconds(5))) == .none)
        #expect(policy.deadlinePassed(now: at(.milliseconds(10_499))) == .none)
        #expect(policy.deadlinePassed(now: at(.milliseconds(10_500))) == .now(.backoff(attempt: 1)))
    }

    // C-109
    @Test func `failures without a path → each attempt 10 s later than otherwise`() {
        var policy = self.policy()
        #expect(policy.pathChanged(to: .down, now: .zero) == .none)
        #expect(policy.failed(.redirected(retryAfter: nil), now: .zero, random: half) == paused(until: .seconds(10)))
    }

    private func paused(until: Duration) -> ReconnectPolicy.Answer { .paused(until: at(until), .noPath) }

    // C-56, C-57
    @Test func `a new path ends a wait and resets the count of attempts`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: cellular, now: .zero)
        for _ in 0..<5 { _ = policy.failed(.unreachable, now: .zero, random: .max) }
        #expect(policy.pathChanged(to: wifi, now: at(.seconds(1))) == .now(.pathUp(.wifi)))
        #expect(policy.attempt == 0)
    }

    @Test func `a new cellular path does not delay an attempt that is due sooner`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: wifi, now: .zero)
        _ = policy.failed(.lost, now: .zero, random: half)
        let answer = policy.pathChanged(to: cellular, now: at(.milliseconds(400)))
        #expect(answer == .wait(until: at(.milliseconds(500)), .pathUp(.cellular)))
    }

    @Test func `a report of the same network has no effect`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: wifi, now: .zero)
        _ = policy.failed(.lost, now: .zero, random: half)
        var renumbered = wifi
        renumbered.addresses = ["192.0.2.1"]
        #expect(policy.pathChanged(to: renumbered, now: at(.milliseconds(1))) == .none)
        #expect(policy.deadline == at(.milliseconds(500)))
    }

    @Test func `the first report of a path has no effect`() {
        var policy = self.policy()
        _ = policy.failed(.lost, now: .zero, random: half)
        #expect(policy.pathChanged(to: wifi, now: .zero) == .none)
        #expect(policy.deadline == at(.milliseconds(500)))
    }

    @Test func `retryAfter 20 s → a wait of 20 s and a random share of 1 s`() {
        var policy = self.policy()
        let least = policy.failed(.refused(retryAfter: .seconds(20)), now: .zero, random: 0)
        #expect(least == .wait(until: at(.seconds(20)), .serverRequired))
        policy.cancel()
        let middle = policy.failed(.refused(retryAfter: .seconds(20)), now: .zero, random: half)
        #expect(middle == .wait(until: at(.milliseconds(20_500)), .serverRequired))
    }

    // C-57
    @Test func `retryAfter is clamped to zero and an hour`() {
        var policy = self.policy()
        let long = policy.failed(.refused(retryAfter: .seconds(1_000_000)), now: .zero, random: 0)
        #expect(long == .wait(until: at(.seconds(3600)), .serverRequired))
        policy.cancel()
        #expect(policy.failed(.refused(retryAfter: .seconds(-5)), now: .zero, random: 0) == .now(.serverRequired))
    }

    @Test func `a refusal without retryAfter → backoff`() {
        var policy = self.policy()
        let answer = policy.failed(.refused(retryAfter: nil), now: .zero, random: half)
        #expect(answer == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
    }

    // C-57
    @Test func `a new path does not end a wait of retryAfter, also after a pause`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: cellular, now: .zero)
        _ = policy.failed(.refused(retryAfter: .seconds(20)), now: .zero, random: 0)
        let asked = ReconnectPolicy.Answer.wait(until: at(.seconds(20)), .serverRequired)
        #expect(policy.pathChanged(to: wifi, now: at(.seconds(1))) == asked)
        #expect(policy.pathChanged(to: .down, now: at(.seconds(2))) == paused(until: .seconds(30)))
        #expect(policy.pathChanged(to: wifi, now: at(.seconds(3))) == asked)
    }

    @Test func `a redirect → an attempt at once, or after its retryAfter`() {
        var policy = self.policy()
        #expect(policy.failed(.redirected(retryAfter: nil), now: .zero, random: half) == .now(.redirected))
        let later = policy.failed(.redirected(retryAfter: .seconds(2)), now: .zero, random: half)
        #expect(later == .wait(until: at(.seconds(2)), .redirected))
        #expect(policy.attempt == 0)
    }

    // C-58
    @Test func `redirects beyond the maximum in a row → backoff`() {
        var policy = self.policy()
        for _ in 0..<ReconnectPolicy.maxRedirectCount {
            #expect(policy.failed(.redirected(retryAfter: nil), now: .zero, random: half) == .now(.redirected))
        }
        let answer = policy.failed(.redirected(retryAfter: nil), now: .zero, random: half)
        #expect(answer == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
        let asked = policy.failed(.redirected(retryAfter: .seconds(5)), now: .zero, random: 0)
        #expect(asked == .wait(until: at(.seconds(5)), .serverRequired))
    }

    @Test func `unauthenticated → backoff, twice in a row → stopped`() {
        var policy = self.policy()
        let once = policy.failed(.unauthenticated, now: .zero, random: half)
        #expect(once == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
        _ = policy.failed(.unreachable, now: .zero, random: half)
        #expect(policy.failed(.unauthenticated, now: .zero, random: half) == .stopped(.unauthenticated))
    }

    @Test func `unauthenticated twice with a welcome between → backoff`() {
        var policy = self.policy()
        _ = policy.failed(.unauthenticated, now: .zero, random: half)
        policy.established(now: .zero)
        let again = policy.failed(.unauthenticated, now: .zero, random: half)
        #expect(again == .wait(until: at(.seconds(1)), .backoff(attempt: 2)))
    }

    // C-44, C-70
    @Test(arguments: [
        (ConnectionFailure.revoked, StopReason.revoked), (.forbidden, .forbidden), (.replaced, .replaced),
        (.unsupportedVersion, .unsupportedVersion), (.serverUnverified, .serverUnverified),
    ])
    func `a permanent failure → stopped until resume`(failure: ConnectionFailure, reason: StopReason) {
        var policy = self.policy()
        #expect(policy.failed(failure, now: .zero, random: half) == .stopped(reason))
        #expect(policy.state == .stopped(reason))
        #expect(policy.deadline == nil)
        #expect(policy.pathChanged(to: wifi, now: .zero) == .none)
        #expect(policy.enterForeground(now: .zero) == .none)
        #expect(policy.deadlinePassed(now: .distantFuture) == .none)
        #expect(policy.resume() == .now(.userRequested))
        #expect(policy.state == .idle)
    }

    @Test(arguments: 1...3) func `as many failed attempts as the limit → stopped`(limit: Int) {
        var policy = ReconnectPolicy(configuration: .init(maxAttemptCount: limit))
        for _ in 1..<limit {
            _ = policy.failed(.unreachable, now: .zero, random: half)
            guard case .waiting = policy.state else {
                Issue.record("\(policy.state)")
                return
            }
        }
        #expect(policy.failed(.unreachable, now: .zero, random: half) == .stopped(.attemptLimit))
        #expect(policy.resume() == .now(.userRequested))
        #expect(policy.attempt == 0)
    }

    @Test func `the loss of a healthy connection and a redirect are no failed attempts, a short connection is one`() {
        var policy = ReconnectPolicy(configuration: .init(maxAttemptCount: 2))
        policy.established(now: .zero)
        let healthy = Instant.zero + .seconds(1)
        for failure in [ConnectionFailure.lost, .redirected(retryAfter: nil), .unreachable] {
            if case .stopped = policy.failed(failure, now: healthy, random: half) { Issue.record("\(failure)") }
        }
        policy.established(now: healthy)
        let short = healthy + .milliseconds(999)
        #expect(policy.failed(.lost, now: short, random: half) == .stopped(.attemptLimit))
    }

    // C-57
    @Test func `the foreground in a wait or a pause → an attempt at once, and the row of failures continues`() {
        var waiting = policy()
        for _ in 0..<4 { _ = waiting.failed(.unreachable, now: .zero, random: .max) }
        #expect(waiting.enterForeground(now: .zero) == .now(.userRequested))
        #expect(waiting.attempt == 4)
        var paused = pausedPolicy()
        #expect(paused.enterForeground(now: .zero) == .now(.userRequested))
        #expect(paused.enterForeground(now: .zero) == .none)
        #expect(paused.resume() == .none)
    }

    // C-57
    @Test func `the foreground in a wait of retryAfter → an attempt after retryAfter, without the random share`() {
        var policy = self.policy()
        _ = policy.failed(.refused(retryAfter: .seconds(20)), now: .zero, random: half)
        let asked = ReconnectPolicy.Answer.wait(until: at(.seconds(20)), .serverRequired)
        #expect(policy.enterForeground(now: at(.seconds(1))) == asked)
        #expect(policy.setPending(true, now: at(.seconds(2)), random: 0) == .none)
        #expect(policy.deadlinePassed(now: at(.seconds(19))) == .none)
        #expect(policy.enterForeground(now: at(.seconds(20))) == .now(.userRequested))
    }

    // C-57, C-58
    @Test func `the foreground or a new path in the wait of a redirect → it is followed after its retryAfter`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: cellular, now: .zero)
        _ = policy.failed(.redirected(retryAfter: .seconds(2)), now: .zero, random: half)
        let asked = ReconnectPolicy.Answer.wait(until: at(.seconds(2)), .redirected)
        #expect(policy.enterForeground(now: at(.seconds(1))) == asked)
        #expect(policy.pathChanged(to: wifi, now: at(.seconds(1))) == asked)
        #expect(policy.deadlinePassed(now: at(.seconds(2))) == .now(.redirected))
    }

    @Test func `a request of the user and a welcome cancel an earlier retryAfter`() {
        var overridden = policy()
        _ = overridden.pathChanged(to: cellular, now: .zero)
        _ = overridden.failed(.refused(retryAfter: .seconds(600)), now: .zero, random: half)
        var welcomed = overridden
        #expect(overridden.resume() == .now(.userRequested))
        welcomed.established(now: .zero)
        for var policy in [overridden, welcomed] {
            _ = policy.failed(.lost, now: .zero, random: half)
            #expect(policy.pathChanged(to: wifi, now: .zero) == .now(.pathUp(.wifi)))
        }
    }

    @Test func `a healthy connection resets the wait to the base, and the count of redirects`() {
        var policy = self.policy()
        for _ in 0..<ReconnectPolicy.maxRedirectCount {
            _ = policy.failed(.redirected(retryAfter: nil), now: .zero, random: half)
        }
        policy.established(now: .zero)
        let closed = policy.failed(.closedByPeer, now: .zero, random: half)
        #expect(closed == .wait(until: at(.seconds(6)), .backoff(attempt: 1)))
        policy.established(now: .zero)
        let now = at(.seconds(10))
        let lost = policy.failed(.lost, now: now, random: half)
        #expect(lost == .wait(until: now + .milliseconds(500), .backoff(attempt: 1)))
        #expect(policy.failed(.redirected(retryAfter: nil), now: now, random: half) == .now(.redirected))
    }

    @Test func `unauthenticated after resume → backoff`() {
        var policy = self.policy()
        _ = policy.failed(.unauthenticated, now: .zero, random: half)
        _ = policy.failed(.unauthenticated, now: .zero, random: half)
        _ = policy.resume()
        let answer = policy.failed(.unauthenticated, now: .zero, random: half)
        #expect(answer == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
    }

    @Test func `cancel → the initial state`() {
        var policy = self.policy()
        _ = policy.failed(.unauthenticated, now: .zero, random: half)
        policy.cancel()
        #expect(policy == self.policy())
    }

    private func pausedPolicy() -> ReconnectPolicy {
        var policy = self.policy()
        for _ in 0..<4 { _ = policy.failed(.lost, now: .zero, random: half) }
        _ = policy.pathChanged(to: .down, now: .zero)
        return policy
    }
}
