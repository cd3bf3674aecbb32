import Foundation
import Martlet
import MartletToolSupport
import MartletTransport

/// The reconnection of many clients after their relay is killed and restarted on the same port (Specs/hostile.md row
/// 30).
///
/// The relay is a child process; all clients are in this process, on one loop. The relay keeps its rooms in memory and
/// loses them, so the clients begin new links on the connections that were to resume the old ones.
struct StormRun: Sendable {
    /// The maximum duration until all clients have reconnected.
    static let maxBackAfter = Duration.seconds(30)
    static let maxConnectsPerSecond = 1500
    static let maxMeanAttempts = 3.0
    /// The number of clients that connect at the same time before the storm. The reconnection is not limited.
    private static let concurrentConnectCount = 64
    /// The minimum age of the connections before the kill. The end of a younger connection would count as a failure,
    /// and the run measures healthy ones.
    private static let minConnectionAge = ReconnectPolicy.Configuration().healthyAfter + .seconds(2)
    /// The duration for which the run waits for clients.
    private static let timeout = Duration.seconds(180)

    let clientCount: Int
    let roomSize: Int
    let downtime: Duration
    let usesTLS: Bool
    /// A closure that receives a line for each event.
    let onChange: @Sendable (String) -> Void

    /// The outcome of a run.
    struct Outcome: Sendable {
        var tally: StormTally
        /// The number of clients whose message was accepted after the storm.
        var acceptedCount: Int
        /// The maximum number of connections that the new relay accepted in a second.
        var maxAcceptedInSecond: Int
        var relay: ProcessFigures?
        var opening: Duration

        var isSuccess: Bool {
            guard let all = tally.back(percent: 100), all <= maxBackAfter else { return false }
            return mostConnects <= maxConnectsPerSecond && tally.meanAttempts <= maxMeanAttempts
                && acceptedCount == tally.backCount
        }

        var mostConnects: Int { max(maxAcceptedInSecond, tally.attempts.count) }
    }

    func run() async throws -> Outcome {
        try await withTemporaryFolder("storm") { folder in
            try await run(usesTLS ? DevelopmentCertificates.make(in: folder) : nil)
        }
    }

    private func run(_ certificates: DevelopmentCertificates?) async throws -> Outcome {
        let loop = try EventLoop(name: "storm")
        let relay = try await RelayProcess(port: 0, certificates)
        var configuration = Client.Configuration()
        if let certificates { configuration.tls.trust = .file(certificates.trustFile) }
        let board = Board(StormTally(clientCount: clientCount))
        let began = ContinuousClock.now
        let (rooms, watchers) = try await relay.guarding {
            let clients = try (0..<clientCount).map {
                try Client(
                    to: relay.endpoint, as: .anonymous("member-\($0)"), configuration: configuration, on: loop)
            }
            let watchers = clients.enumerated().map { index, client in Task { await board.watch(client, index) } }
            return (try await open(clients), watchers)
        }
        let opening = ContinuousClock.now - began
        onChange("\(clientCount) clients in \((clientCount + roomSize - 1) / roomSize) rooms after \(text(opening))")
        try await relay.guarding { try await Task.sleep(for: Self.minConnectionAge) }

        board.tally.withLock { $0.killed(at: .now) }
        await relay.kill()
        onChange("the relay is killed and restarts after \(text(downtime))")
        try await Task.sleep(for: downtime)
        let next = try await RelayProcess(port: relay.port, certificates) { line in
            if line.event == "linked" || line.event == "resumed" { board.accepted.withLock { $0.add(line.time) } }
        }
        try await next.guarding { try await waitForAll(board) }
        let acceptedCount = await sendAll(in: rooms)
        let figures = ProcessFigures(of: next.identifier)
        for watcher in watchers { watcher.cancel() }
        await next.kill()
        return Outcome(
            tally: board.tally.withLock { $0 }, acceptedCount: acceptedCount,
            maxAcceptedInSecond: board.accepted.withLock(\.count),
            relay: figures, opening: opening)
    }

    private func waitForAll(_ board: Board) async throws {
        let deadline = ContinuousClock.now + Self.timeout
        while ContinuousClock.now < deadline, !board.tally.withLock(\.isOver) {
            try await Task.sleep(for: .seconds(1))
            onChange("\(board.tally.withLock(\.backCount)) reconnected")
        }
    }

    /// The results that several threads record.
    private final class Board: Sendable {
        let tally: Guarded<StormTally>
        let accepted = Guarded(BusiestSecond())

        init(_ tally: StormTally) {
            self.tally = Guarded(tally)
        }

        func watch(_ client: Client, _ index: Int) async {
            for await status in client.status { tally.withLock { $0.see(status, of: index, at: .now) } }
        }
    }

    private func open(_ clients: [Client]) async throws -> [Room] {
        try await withThrowingTaskGroup(of: Room.self) { group in
            var rooms: [Room] = []
            for (index, client) in clients.enumerated() {
                if index >= Self.concurrentConnectCount, let room = try await group.next() { rooms.append(room) }
                group.addTask {
                    try await client.start()
                    return try await client.open(room: "room-\(index / roomSize)")
                }
            }
            for try await room in group { rooms.append(room) }
            return rooms
        }
    }

    /// Sends a message from every client and returns the number of messages accepted before the deadline.
    private func sendAll(in rooms: [Room]) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                try? await Task.sleep(for: Self.timeout)
                return false
            }
            for room in rooms {
                group.addTask { await (try? room.send("reconnected").accepted()) != nil }
            }
            var acceptedCount = 0
            for _ in rooms.indices where await group.next() == true { acceptedCount += 1 }
            group.cancelAll()
            return acceptedCount
        }
    }

    private func text(_ duration: Duration) -> String { Quantity.text(duration) }
}
