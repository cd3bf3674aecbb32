import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Many clients that reconnect after the failure of their server, in virtual time.
@Suite struct ReconnectHerdTests {
    private struct Result {
        var attemptCount = 0
        var connects: [Instant] = []

        var busiestSecond: Int {
            var first = 0
            return connects.indices.map { last in
                while connects[first] + .seconds(1) <= connects[last] { first += 1 }
                return last - first + 1
            }.max() ?? 0
        }
    }

    /// Returns the attempts of clients whose server fails at once and listens again after a duration.
    private func fail(_ clients: inout [ReconnectPolicy], downFor downtime: Duration, seed: UInt64) -> Result {
        var random = SeededRandom(seed: seed)
        var timers = TimerQueue<Int>()
        let up = Instant.zero + downtime
        for index in clients.indices {
            _ = clients[index].failed(.closedByPeer, now: .zero, random: random.next())
            timers.set(index, at: clients[index].deadline)
        }
        var result = Result()
        while let now = timers.earliest, let index = timers.popExpired(now: now) {
            _ = clients[index].deadlinePassed(now: now)
            result.attemptCount += 1
            guard now < up else {
                result.connects.append(now)
                continue
            }
            _ = clients[index].failed(.notListening, now: now, random: random.next())
            timers.set(index, at: clients[index].deadline)
        }
        return result
    }

    private func expectNoStorm(_ clients: inout [ReconnectPolicy], downFor downtime: Duration, seed: UInt64) {
        let result = fail(&clients, downFor: downtime, seed: seed)
        #expect(result.connects.count == 10_000)
        #expect(result.connects.last! <= .zero + downtime + .seconds(30))
        #expect(result.attemptCount <= 30_000)
        #expect(result.busiestSecond <= 1500)
    }

    // C-55, Specs/hostile.md row 30
    @Test(arguments: [0, 1, 2, 5, 8, 12, 20] as [UInt64])
    func `10,000 clients reconnect within 30 s of a relay's restart, at most 1,500 in any second`(downSeconds: UInt64) {
        var clients = [ReconnectPolicy](repeating: ReconnectPolicy(), count: 10_000)
        for index in clients.indices { clients[index].established(now: .zero) }
        expectNoStorm(&clients, downFor: .seconds(downSeconds), seed: downSeconds)
    }

    // C-92, C-94, Specs/hostile.md row 30
    @Test(arguments: [0, 1, 2, 5, 8, 12, 20] as [UInt64])
    func `10,000 clients with the spread of a relay reconnect as slowly`(downSeconds: UInt64) {
        var spread = ReconnectSpread()
        let named = spread.duration(clientCount: 10_000, loopCount: 1, now: .zero)
        var clients = [ReconnectPolicy](repeating: ReconnectPolicy(), count: 10_000)
        for index in clients.indices { clients[index].established(spread: named, now: .zero) }
        expectNoStorm(&clients, downFor: .seconds(downSeconds), seed: downSeconds)
    }

    // C-92: the relay has counted few clients when it named the first spreads.
    @Test(arguments: [0, 2] as [UInt64])
    func `10,000 clients that are still arriving when the relay fails again reconnect as slowly`(downSeconds: UInt64) {
        var spread = ReconnectSpread()
        var clients = [ReconnectPolicy](repeating: ReconnectPolicy(), count: 10_000)
        for index in clients.indices {
            let now = Instant.zero + .milliseconds(index * 6 / 5)
            spread.arrived(now: now)
            let named = spread.duration(clientCount: index + 1, loopCount: 1, now: now)
            clients[index].established(spread: named, now: .zero)
        }
        expectNoStorm(&clients, downFor: .seconds(downSeconds), seed: downSeconds)
    }

    // C-92, C-93, C-94
    @Test(arguments: [0, 100, 500, 1000, 2000, 5000, 20_000, 60_000])
    func `20 clients reconnect within 2 s of a relay's restart`(downMilliseconds: Int) {
        var spread = ReconnectSpread()
        for _ in 0..<20 { spread.arrived(now: .zero) }
        let named = spread.duration(clientCount: 20, loopCount: 1, now: .zero)
        for seed in 1...50 as ClosedRange<UInt64> {
            var clients = [ReconnectPolicy](repeating: ReconnectPolicy(), count: 20)
            for index in clients.indices { clients[index].established(spread: named, now: .zero) }
            let result = fail(&clients, downFor: .milliseconds(downMilliseconds), seed: seed)
            #expect(result.connects.last! <= .zero + .milliseconds(downMilliseconds) + .seconds(2))
        }
    }

    @Test func `a refusal with retryAfter 5 s adds a random wait of up to 12 s`() {
        var policy = ReconnectPolicy()
        policy.established(now: .zero)
        let answer = policy.failed(.refused(retryAfter: .seconds(5)), now: .zero, random: 1 << 63)
        #expect(answer == .wait(until: .zero + .seconds(11), .serverRequired))
    }
}
