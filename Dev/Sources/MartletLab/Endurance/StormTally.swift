import Martlet

/// The reconnections of clients after their relay is killed: their times and attempts.
struct StormTally: Sendable {
    /// The reconnection of one client.
    private struct Reconnection: Sendable {
        /// The number of reconnects before the kill.
        var reconnects: UInt64 = 0
        var attemptCount = 0
        var isConnecting = false
        var backAfter: Duration?
    }

    private var clients: [Reconnection]
    private var killedAt: ContinuousClock.Instant?
    /// The connection attempts, failed ones included, in milliseconds after the kill of the relay.
    private(set) var attempts = BusiestSecond()

    init(clientCount: Int) {
        clients = Array(repeating: Reconnection(), count: clientCount)
    }

    /// Records the kill of the relay and discards earlier events.
    mutating func killed(at now: ContinuousClock.Instant) {
        killedAt = now
    }

    mutating func see(_ status: Client.Status, of client: Int, at now: ContinuousClock.Instant) {
        guard let killedAt else {
            clients[client].reconnects = status.reconnects
            return
        }
        guard clients[client].backAfter == nil else { return }
        if case .connecting(let attempt) = status.phase {
            // The lost connection counts as the first attempt.
            note(client, max(attempt - 1, clients[client].attemptCount + (clients[client].isConnecting ? 0 : 1)), now)
            clients[client].isConnecting = true
        } else {
            if case .signingIn = status.phase { note(client, max(1, clients[client].attemptCount), now) }
            clients[client].isConnecting = status.phase == .signingIn
        }
        guard status.isOnline, status.reconnects > clients[client].reconnects else { return }
        note(client, max(1, clients[client].attemptCount), now)
        clients[client].backAfter = now - killedAt
    }

    private mutating func note(_ client: Int, _ attemptCount: Int, _ now: ContinuousClock.Instant) {
        guard let killedAt else { return }
        let time = Int64((now - killedAt) / .milliseconds(1))
        for _ in clients[client].attemptCount..<max(attemptCount, clients[client].attemptCount) { attempts.add(time) }
        clients[client].attemptCount = max(attemptCount, clients[client].attemptCount)
    }

    var backCount: Int { clients.count { $0.backAfter != nil } }
    var isOver: Bool { backCount == clients.count }
    var attemptCount: Int { clients.reduce(0) { $0 + $1.attemptCount } }
    var mostAttempts: Int { clients.map(\.attemptCount).max() ?? 0 }
    var meanAttempts: Double { Double(attemptCount) / Double(max(clients.count, 1)) }

    /// Returns the time after which `percent` per cent of the clients had reconnected; nil if they have not.
    func back(percent: Int) -> Duration? {
        let times = clients.compactMap(\.backAfter).sorted()
        let needed = (clients.count * percent + 99) / 100
        return needed >= 1 && times.count >= needed ? times[needed - 1] : nil
    }
}
