import Martlet
import MartletToolSupport
import Testing

@testable import Martlet
@testable import MartletLab

@Suite struct StormTallyTests {
    private let killed = ContinuousClock.now

    private func status(_ phase: Client.Status.Phase, reconnects: UInt64 = 0) -> Client.Status {
        var status = Client.Status()
        status.phase = phase
        status.reconnects = reconnects
        return status
    }

    private func tally(_ course: [(Int, Client.Status)]) -> StormTally {
        var tally = StormTally(clientCount: 1)
        tally.see(status(.online), of: 0, at: killed)
        tally.killed(at: killed)
        for (seconds, status) in course { tally.see(status, of: 0, at: killed + .seconds(seconds)) }
        return tally
    }

    @Test func `observed attempts of a reconnected client are counted`() {
        let tally = tally([
            (0, status(.online)), (1, status(.waiting(.backoff(attempt: 1)))), (2, status(.connecting(attempt: 2))),
            (3, status(.waiting(.backoff(attempt: 2)))), (9, status(.connecting(attempt: 3))),
            (9, status(.signingIn)), (10, status(.online, reconnects: 1)), (99, status(.connecting(attempt: 1))),
        ])
        #expect(tally.isOver)
        #expect(tally.attemptCount == 2 && tally.mostAttempts == 2)
        #expect(tally.back(percent: 100) == .seconds(10))
        #expect(tally.attempts.count == 1)
    }

    @Test func `unobserved attempts are counted by their number`() {
        let tally = tally([(9, status(.connecting(attempt: 4))), (10, status(.online, reconnects: 1))])
        #expect(tally.attemptCount == 3)
        #expect(self.tally([(10, status(.online, reconnects: 1))]).attemptCount == 1)
    }

    @Test func `a client that has not reconnected is not counted`() {
        let tally = tally([(1, status(.waiting(.backoff(attempt: 1))))])
        #expect(!tally.isOver)
        #expect(tally.back(percent: 50) == nil)
    }
}
