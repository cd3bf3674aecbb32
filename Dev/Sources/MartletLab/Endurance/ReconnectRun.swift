import Foundation
import Martlet
import MartletToolSupport
import MartletTransport
import MartletWire

/// The reconnection of clients with the library's default configuration: over a path with cuts, and after the relay is
/// killed and restarted.
struct ReconnectRun: Sendable {
    /// The minimum share of time in which the client is online, in percent.
    static let minOnlinePercent = 60.0
    /// The maximum median of the time until a message is accepted.
    static let maxMedian = Duration.milliseconds(700)
    /// The maximum duration from the start of listening until all clients are online.
    static let maxBackAfter = Duration.seconds(2)
    private static let sendInterval = Duration.milliseconds(100)
    private static let settlingTime = Duration.seconds(30)

    /// A closure that receives a line for each event.
    let onChange: @Sendable (String) -> Void

    // MARK: Cuts

    /// The outcome of a run over a path with cuts.
    struct CutOutcome: Sendable {
        var onlinePercent: Double
        var cutCount: Int
        var messageCount: Int
        /// The times until messages were accepted, sorted.
        var times: [Duration]

        func time(percent: Int) -> Duration { times.isEmpty ? .zero : times[(times.count - 1) * percent / 100] }

        var isSuccess: Bool {
            onlinePercent >= minOnlinePercent && times.count == messageCount && time(percent: 50) <= maxMedian
        }
    }

    /// Sends messages over a path that is cut at an interval.
    func cuts(every interval: Duration, delay: Duration, jitter: Duration, for duration: Duration) async throws
        -> CutOutcome
    {
        let relay = try await RelayProcess(port: 0)
        return try await relay.guarding {
            var profile = WeakLinkProfile()
            (profile.delay, profile.jitter, profile.cutEvery) = (delay, jitter, interval)
            let proxy = try WeakProxy(
                listenOn: SocketAddress(.loopbackV4, port: 0),
                to: try Endpoint(host: "127.0.0.1", port: relay.port, security: .plain), profile: profile, seed: 1)
            let client = try Client(to: "martlet://127.0.0.1:\(proxy.port)", as: .anonymous("ada"))
            let outcome = try await withClient(client) { client in
                let room = try await client.open(room: "lobby")
                return try await measure(client, room, for: duration)
            }
            let cutCount = await proxy.stop().cutCount
            await relay.kill()
            return CutOutcome(
                onlinePercent: outcome.online, cutCount: cutCount, messageCount: outcome.count,
                times: outcome.times.sorted())
        }
    }

    private func measure(_ client: Client, _ room: Room, for duration: Duration) async throws
        -> (online: Double, count: Int, times: [Duration])
    {
        let began = ContinuousClock.now
        let watch = Task { await onlineTime(of: client) }
        var sent = 0
        let times = try await withThrowingTaskGroup(of: Duration.self) { group in
            while ContinuousClock.now - began < duration {
                let now = ContinuousClock.now
                let handle = try await room.send("message \(sent)")
                group.addTask {
                    _ = try await handle.accepted()
                    return ContinuousClock.now - now
                }
                sent += 1
                try await Task.sleep(until: began + Self.sendInterval * sent)
            }
            watch.cancel()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        return (await watch.value / duration * 100, sent, times)
    }

    /// The time for which a client was online, until the task is cancelled.
    private func onlineTime(of client: Client) async -> Duration {
        var online = Duration.zero
        var since: ContinuousClock.Instant?
        for await status in client.status {
            let now = ContinuousClock.now
            if let since { online += now - since }
            since = status.isOnline ? now : nil
        }
        if let since { online += .now - since }
        return online
    }

    // MARK: Restarts

    /// The duration from the start of listening until all clients are online, for each restart.
    func restarts(count: Int, clientCount: Int, downtime: Duration) async throws -> [Duration] {
        var relay = try await RelayProcess(port: 0)
        let clients = try (0..<clientCount).map { number in
            try Client(to: relay.endpoint, as: .anonymous("bot-\(number)"))
        }
        var times: [Duration] = []
        do {
            for client in clients { try await client.start() }
            for client in clients { await client.status.first { $0.isOnline } }
            for number in 1...count {
                try await Task.sleep(for: .seconds(2))
                let reconnects = clients.map(\.currentStatus.reconnects)
                await relay.kill()
                try await Task.sleep(for: downtime)
                relay = try await RelayProcess(port: relay.port)
                let listening = ContinuousClock.now
                for (client, earlier) in zip(clients, reconnects) {
                    await client.status.first { $0.isOnline && $0.reconnects > earlier }
                }
                times.append(.now - listening)
                onChange("restart \(number): \(clientCount) clients online after \(Quantity.text(times.last!))")
            }
        } catch {
            await relay.kill()
            throw error
        }
        await relay.kill()
        return times
    }
}

extension AsyncSequence where Failure == Never {
    /// Waits for the first element that matches.
    fileprivate func first(_ matches: (Element) -> Bool) async {
        for await element in self where matches(element) { return }
    }
}
