import Martlet

/// The reconnections of clients after their relay is killed: their times and attempts.
struct StormTally: Sendable {
    /// The reconnection of one client.
    private struct Way: Sendable {
        /// The number of reconnects before the relay was killed.
        var reconnects: UInt64 = 0
        var attemptCount = 0
        var isConnecting = false
        var backAfter: Duration?
    }

    private var ways: [Way]
    private var killedAt: ContinuousClock.Instant?
    /// The connection attempts, failed ones included, in milliseconds after the kill of the relay.
    private(set) var attempts = BusiestSecond()

    init(clientCount: Int) {
        ways = Array(repeating: Way(), count: clientCount)
    }

    /// Records the kill of the relay and discards earlier events.
    mutating func killed(at now: ContinuousClock.Instant) {
        killedAt = now
    }

    mutating func see(_ status: Client.Status, of client: Int, at now: ContinuousClock.Instant) {
        guard let killedAt else {
            ways[client].reconnects = status.reconnects
            return
        }
        guard ways[client].backAfter == nil else { return }
        if case .connecting(let attempt) = status.phase {
            // The lost connection counts as the first attempt.
            note(client, max(attempt - 1, ways[client].attemptCount + (ways[client].isConnecting ? 0 : 1)), now)
            ways[client].isConnecting = true
        } else {
            if case .signingIn = status.phase { note(client, max(1, ways[client].attemptCount), now) }
            ways[client].isConnecting = status.phase == .signingIn
        }
        guard status.isOnline, status.reconnects > ways[client].reconnects else { return }
        note(client, max(1, ways[client].attemptCount), now)
        ways[client].backAfter = now - killedAt
    }

    private mutating func note(_ client: Int, _ attemptCount: Int, _ now: ContinuousClock.Instant) {
        guard let killedAt else { return }
        let time = Int64((now - killedAt) / .milliseconds(1))
        for _ in ways[client].attemptCount..<max(attemptCount, ways[client].attemptCount) { attempts.add(time) }
        ways[client].attemptCount = max(attemptCount, ways[client].attemptCount)
    }

    var backCount: Int { ways.count { $0.backAfter != nil } }
    var isOver: Bool { backCount == ways.count }
    var attemptCount: Int { ways.reduce(0) { $0 + $1.attemptCount } }
    var mostAttempts: Int { ways.map(\.attemptCount).max() ?? 0 }
    var meanAttempts: Double { Double(attemptCount) / Double(max(ways.count, 1)) }

    /// Returns the time after which `percent` per cent of the clients had reconnected; nil if they have not.
    func back(percent: Int) -> Duration? {
        let times = ways.compactMap(\.backAfter).sorted()
        let needed = (ways.count * percent + 99) / 100
        return needed >= 1 && times.count >= needed ? times[needed - 1] : nil
    }
}
