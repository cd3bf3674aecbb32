import MartletProtocol
import MartletWire
import Testing

/// Many clients that reconnect after the failure of their server, in virtual time.
@Suite struct ReconnectHerdTests {
    // C-55, Specs/hostile.md row 30
    @Test(arguments: [0, 1, 2, 5, 8, 12, 20] as [UInt64])
    func `10,000 clients reconnect within 30 s of a relay's restart, at most 1,500 in any second`(downSeconds: UInt64) {
        var random = SeededRandom(seed: downSeconds)
        var timers = TimerQueue<Int>()
        var clients = [ReconnectPolicy](repeating: ReconnectPolicy(), count: 10_000)
        let up = Instant.zero + .seconds(downSeconds)
        for index in clients.indices {
            clients[index].established(now: .zero)
            _ = clients[index].failed(.closedByPeer, now: .zero, random: random.next())
            timers.set(index, at: clients[index].deadline)
        }
        var attemptCount = 0
        var connects: [Instant] = []
        while let now = timers.earliest, let index = timers.popExpired(now: now) {
            _ = clients[index].deadlinePassed(now: now)
            attemptCount += 1
            guard now < up else {
                connects.append(now)
                continue
            }
            _ = clients[index].failed(.unreachable, now: now, random: random.next())
            timers.set(index, at: clients[index].deadline)
        }
        #expect(connects.count == 10_000)
        #expect(connects.last! <= up + .seconds(30))
        #expect(attemptCount <= 30_000)
        #expect(busiestSecond(of: connects) <= 1500)
    }

    @Test func `a refusal with retryAfter 5 s adds a random wait of up to 12 s`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        let answer = policy.failed(.refused(retryAfter: .seconds(5)), now: .zero, random: 1 << 63)
        #expect(answer == .wait(until: .zero + .seconds(11), .serverRequired))
    }

    private func busiestSecond(of instants: [Instant]) -> Int {
        var first = 0
        return instants.indices.map { last in
            while instants[first] + .seconds(1) <= instants[last] { first += 1 }
            return last - first + 1
        }.max() ?? 0
    }
}
