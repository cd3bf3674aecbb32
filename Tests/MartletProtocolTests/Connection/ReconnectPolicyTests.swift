import MartletProtocol
import MartletWire
import Testing

@Suite struct ReconnectPolicyTests {
    private let half: UInt64 = 1 << 63
    private let wifi = PathStatus(isUp: true, kind: .wifi, network: NetworkID(rawValue: 1))
    private let wired = PathStatus(isUp: true, kind: .wired, network: NetworkID(rawValue: 2))
    private let cellular = PathStatus(isUp: true, kind: .cellular, network: NetworkID(rawValue: 3))

    /// Numbers that are easily told apart; a test of the defaults says so.
    private func policy() -> ReconnectPolicy {
        ReconnectPolicy(
            configuration: .init(
                base: .seconds(1), cap: .seconds(30), peerClosedBase: .seconds(12), healthyAfter: .seconds(10)))
    }

    private func at(_ duration: Duration) -> Instant { .zero + duration }

    // C-55
    @Test func `The ceiling of a wait doubles from the base to the cap`() {
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
    @Test func `By default the ceiling doubles from 250 ms to 24 s, and begins at 12 s after the server's end`() {
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

    /// The waits before the next attempts, drawn in the middle, when connections of a length end one after another.
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
    @Test func `Each end by the peer whose link was resumed halves the ceiling of the next, down to the base`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        let waits = waits(&policy, Array(repeating: .closedByPeer, count: 8), each: .seconds(3))
        #expect(waits == [6000, 3000, 1500, 750, 375, 187.5, 125, 125].map { .milliseconds($0) })
    }

    // C-55
    @Test func `A new link, a goaway and a connection of a minute have the whole ceiling again`() {
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
    @Test func `A loss that the client finds out by itself has the base and leaves the ceiling for the peer's end`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        let waits = waits(&policy, [.lost, .lost, .closedByPeer], each: .seconds(3))
        #expect(waits == [125, 125, 6000].map { .milliseconds($0) })
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `A wait is never longer than the cap, whatever the draw`(seed: UInt64) {
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

    @Test func `The attempt is made when it is due, once`() {
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
    @Test func `A connection that was healthy starts the count over, one that was not does not`() {
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

    @Test func `Wi-Fi or a cable coming up is used at once`() {
        let loopback = PathStatus(isUp: true, kind: .loopback, network: NetworkID(rawValue: 4))
        for path in [wifi, wired, loopback] {
            var policy = pausedPolicy()
            #expect(policy.pathChanged(to: path, now: at(.seconds(60))) == .now(.pathUp(path.kind)))
            #expect(policy.state == .idle)
        }
    }

    // C-57
    @Test func `Cellular coming up is used after 1 s, and so is a path of unknown kind`() {
        for kind in [PathKind.cellular, .other] {
            var policy = pausedPolicy()
            let now = at(.seconds(60))
            let path = PathStatus(isUp: true, kind: kind, network: NetworkID(rawValue: 3))
            #expect(policy.pathChanged(to: path, now: now) == .wait(until: now + .seconds(1), .pathUp(kind)))
            #expect(policy.deadlinePassed(now: now + .seconds(1)) == .now(.pathUp(kind)))
        }
    }

    @Test func `No path pauses: there is no timer and no attempt`() {
        var policy = self.policy()
        _ = policy.failed(.lost, now: .zero, random: half)
        #expect(policy.pathChanged(to: .down, now: .zero) == .paused(.noPath))
        #expect(policy.state == .paused(.noPath))
        #expect(policy.deadline == nil)
        #expect(policy.deadlinePassed(now: .distantFuture) == .none)
        #expect(policy.pathChanged(to: .down, now: at(.seconds(5))) == .none)
    }

    @Test func `A failure without a path pauses too`() {
        var policy = self.policy()
        #expect(policy.pathChanged(to: .down, now: .zero) == .none)
        #expect(policy.failed(.lost, now: .zero, random: half) == .paused(.noPath))
        #expect(policy.failed(.redirected(retryAfter: nil), now: .zero, random: half) == .paused(.noPath))
    }

    // C-56, C-57
    @Test func `A new path cuts a wait short and starts the count over`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: cellular, now: .zero)
        for _ in 0..<5 { _ = policy.failed(.unreachable, now: .zero, random: .max) }
        #expect(policy.pathChanged(to: wifi, now: at(.seconds(1))) == .now(.pathUp(.wifi)))
        #expect(policy.attempt == 0)
    }

    @Test func `A new cellular path does not put off an attempt that is due sooner`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: wifi, now: .zero)
        _ = policy.failed(.lost, now: .zero, random: half)
        let answer = policy.pathChanged(to: cellular, now: at(.milliseconds(400)))
        #expect(answer == .wait(until: at(.milliseconds(500)), .pathUp(.cellular)))
    }

    @Test func `A report that names the same path changes nothing`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: wifi, now: .zero)
        _ = policy.failed(.lost, now: .zero, random: half)
        var renumbered = wifi
        renumbered.addresses = ["192.0.2.1"]
        #expect(policy.pathChanged(to: renumbered, now: at(.milliseconds(1))) == .none)
        #expect(policy.deadline == at(.milliseconds(500)))
    }

    @Test func `The first report of a path is no change of path`() {
        var policy = self.policy()
        _ = policy.failed(.lost, now: .zero, random: half)
        #expect(policy.pathChanged(to: wifi, now: .zero) == .none)
        #expect(policy.deadline == at(.milliseconds(500)))
    }

    @Test func `The server's wait is obeyed, never undercut by the draw, and spread`() {
        var policy = self.policy()
        let least = policy.failed(.refused(retryAfter: .seconds(20)), now: .zero, random: 0)
        #expect(least == .wait(until: at(.seconds(20)), .serverRequired))
        policy.cancel()
        let middle = policy.failed(.refused(retryAfter: .seconds(20)), now: .zero, random: half)
        #expect(middle == .wait(until: at(.milliseconds(20_500)), .serverRequired))
    }

    // C-57
    @Test func `A server can ask for an hour at most and not for less than nothing`() {
        var policy = self.policy()
        let long = policy.failed(.refused(retryAfter: .seconds(1_000_000)), now: .zero, random: 0)
        #expect(long == .wait(until: at(.seconds(3600)), .serverRequired))
        policy.cancel()
        #expect(policy.failed(.refused(retryAfter: .seconds(-5)), now: .zero, random: 0) == .now(.serverRequired))
    }

    @Test func `A server that only refuses is retried with backoff`() {
        var policy = self.policy()
        let answer = policy.failed(.refused(retryAfter: nil), now: .zero, random: half)
        #expect(answer == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
    }

    // C-57
    @Test func `A new path does not cut the server's wait short, a pause included`() {
        var policy = self.policy()
        _ = policy.pathChanged(to: cellular, now: .zero)
        _ = policy.failed(.refused(retryAfter: .seconds(20)), now: .zero, random: 0)
        let asked = ReconnectPolicy.Answer.wait(until: at(.seconds(20)), .serverRequired)
        #expect(policy.pathChanged(to: wifi, now: at(.seconds(1))) == asked)
        #expect(policy.pathChanged(to: .down, now: at(.seconds(2))) == .paused(.noPath))
        #expect(policy.pathChanged(to: wifi, now: at(.seconds(3))) == asked)
    }

    @Test func `A redirect is followed at once, or when the server says`() {
        var policy = self.policy()
        #expect(policy.failed(.redirected(retryAfter: nil), now: .zero, random: half) == .now(.redirected))
        let later = policy.failed(.redirected(retryAfter: .seconds(2)), now: .zero, random: half)
        #expect(later == .wait(until: at(.seconds(2)), .redirected))
        #expect(policy.attempt == 0)
    }

    // C-58
    @Test func `Redirects that go round in circles end in backoff`() {
        var policy = self.policy()
        for _ in 0..<ReconnectPolicy.maxRedirectCount {
            #expect(policy.failed(.redirected(retryAfter: nil), now: .zero, random: half) == .now(.redirected))
        }
        let answer = policy.failed(.redirected(retryAfter: nil), now: .zero, random: half)
        #expect(answer == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
        let asked = policy.failed(.redirected(retryAfter: .seconds(5)), now: .zero, random: 0)
        #expect(asked == .wait(until: at(.seconds(5)), .serverRequired))
    }

    @Test func `A credential refused once is asked for again, refused twice in a row it stops`() {
        var policy = self.policy()
        let once = policy.failed(.unauthenticated, now: .zero, random: half)
        #expect(once == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
        _ = policy.failed(.unreachable, now: .zero, random: half)
        #expect(policy.failed(.unauthenticated, now: .zero, random: half) == .stopped(.unauthenticated))
    }

    @Test func `Welcome between two refusals of the credential means they are not in a row`() {
        var policy = self.policy()
        _ = policy.failed(.unauthenticated, now: .zero, random: half)
        policy.established(now: .zero)
        let again = policy.failed(.unauthenticated, now: .zero, random: half)
        #expect(again == .wait(until: at(.seconds(1)), .backoff(attempt: 2)))
    }

    // C-44
    @Test(arguments: [
        (ConnectionFailure.revoked, StopReason.revoked), (.forbidden, .forbidden), (.replaced, .replaced),
        (.unsupportedVersion, .unsupportedVersion),
    ])
    func `What would fail the same way again stops until the user resumes`(
        failure: ConnectionFailure, reason: StopReason
    ) {
        var policy = self.policy()
        #expect(policy.failed(failure, now: .zero, random: half) == .stopped(reason))
        #expect(policy.state == .stopped(reason))
        #expect(policy.deadline == nil)
        #expect(policy.pathChanged(to: wifi, now: .zero) == .none)
        #expect(policy.tryNow() == .stopped(reason))
        #expect(policy.deadlinePassed(now: .distantFuture) == .none)
        #expect(policy.resume() == .now(.userRequested))
        #expect(policy.state == .idle)
    }

    @Test func `A limit of attempts stops after as many retries; there is none unless asked for`() {
        var policy = ReconnectPolicy(configuration: .init(maxAttemptCount: 2))
        _ = policy.failed(.lost, now: .zero, random: half)
        _ = policy.failed(.unreachable, now: .zero, random: half)
        #expect(policy.failed(.unreachable, now: .zero, random: half) == .stopped(.attemptLimit))
        #expect(policy.resume() == .now(.userRequested))
        #expect(policy.attempt == 0)
    }

    @Test func `The user's wish to try now is obeyed at once in a wait and in a pause`() {
        var waiting = policy()
        _ = waiting.failed(.refused(retryAfter: .seconds(600)), now: .zero, random: half)
        #expect(waiting.tryNow() == .now(.userRequested))
        var paused = pausedPolicy()
        #expect(paused.tryNow() == .now(.userRequested))
        #expect(paused.tryNow() == .none)
        #expect(paused.resume() == .none)
    }

    @Test func `The server's wait is void once the user overrode it or the server said welcome`() {
        var overridden = policy()
        _ = overridden.pathChanged(to: cellular, now: .zero)
        _ = overridden.failed(.refused(retryAfter: .seconds(600)), now: .zero, random: half)
        var welcomed = overridden
        _ = overridden.tryNow()
        welcomed.established(now: .zero)
        for var policy in [overridden, welcomed] {
            _ = policy.failed(.lost, now: .zero, random: half)
            #expect(policy.pathChanged(to: wifi, now: .zero) == .now(.pathUp(.wifi)))
        }
    }

    @Test func `A healthy connection makes the next loss a first one: base and redirects count anew`() {
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

    @Test func `After the user resumed, a credential is again allowed one refusal`() {
        var policy = self.policy()
        _ = policy.failed(.unauthenticated, now: .zero, random: half)
        _ = policy.failed(.unauthenticated, now: .zero, random: half)
        _ = policy.resume()
        let answer = policy.failed(.unauthenticated, now: .zero, random: half)
        #expect(answer == .wait(until: at(.milliseconds(500)), .backoff(attempt: 1)))
    }

    @Test func `The end of all wishes ends the waiting`() {
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
