import Foundation
import Martlet
import MartletToolSupport
import MartletTransport

/// A relay is killed with many clients on it, and begins again on the same port: how they come back
/// (Specs/hostile.md row 30).
///
/// The relay is another process, started by this one; the clients are all here, on one loop. What the relay knew is
/// gone, since it keeps its rooms in memory: the clients' links begin anew, on the connection that was to resume them.
struct StormRun: Sendable {
    /// The time by which all clients have to be back.
    static let maxBackAfter = Duration.seconds(30)
    static let maxConnectsPerSecond = 1500
    static let maxMeanAttempts = 3.0
    /// How many clients connect at a time before the storm; those after it decide for themselves.
    private static let openingWidth = 64
    /// Connections that are younger count as failed when they end, and what is to be seen are healthy ones.
    private static let calm = ReconnectPolicy.Configuration().healthyAfter + .seconds(2)
    /// How long the run waits for late clients.
    private static let patience = Duration.seconds(180)

    let clientCount: Int
    let roomSize: Int
    let downtime: Duration
    /// Receives a line for each event.
    let onChange: @Sendable (String) -> Void

    /// What came of it.
    struct Outcome: Sendable {
        var tally: StormTally
        /// Clients whose message was accepted after the storm.
        var acceptedCount: Int
        /// Connections that the new relay let in, in its busiest second.
        var mostLetIn: Int
        var relay: ProcessFigures?
        var opening: Duration

        var isGood: Bool {
            guard let all = tally.back(percent: 100), all <= maxBackAfter else { return false }
            return mostConnects <= maxConnectsPerSecond && tally.meanAttempts <= maxMeanAttempts
                && acceptedCount == tally.backCount
        }

        var mostConnects: Int { max(mostLetIn, tally.attempts.count) }
    }

    func run() async throws -> Outcome {
        let loop = try EventLoop(name: "storm")
        let relay = try await RelayProcess(port: 0)
        let board = Board(StormTally(clientCount: clientCount))
        let began = ContinuousClock.now
        let (rooms, watchers) = try await relay.guarding {
            let clients = try (0..<clientCount).map {
                try Client(to: relay.endpoint, as: .anonymous("member-\($0)"), on: loop)
            }
            let watchers = clients.enumerated().map { index, client in Task { await board.watch(client, index) } }
            return (try await open(clients), watchers)
        }
        let opening = ContinuousClock.now - began
        onChange("\(clientCount) clients in \((clientCount + roomSize - 1) / roomSize) rooms after \(text(opening))")
        try await relay.guarding { try await Task.sleep(for: Self.calm) }

        board.tally.withLock { $0.killed(at: .now) }
        await relay.kill()
        onChange("the relay is killed, and away for \(text(downtime))")
        try await Task.sleep(for: downtime)
        let next = try await RelayProcess(port: relay.port) { line in
            if line.event == "linked" || line.event == "resumed" { board.letIn.withLock { $0.add(line.time) } }
        }
        try await next.guarding { try await waitForAll(board) }
        let acceptedCount = await sendAll(in: rooms)
        let figures = ProcessFigures(of: next.identifier)
        for watcher in watchers { watcher.cancel() }
        await next.kill()
        return Outcome(
            tally: board.tally.withLock { $0 }, acceptedCount: acceptedCount, mostLetIn: board.letIn.withLock(\.count),
            relay: figures, opening: opening)
    }

    private func waitForAll(_ board: Board) async throws {
        let deadline = ContinuousClock.now + Self.patience
        while ContinuousClock.now < deadline, !board.tally.withLock(\.isOver) {
            try await Task.sleep(for: .seconds(1))
            onChange("\(board.tally.withLock(\.backCount)) are back")
        }
    }

    /// What several threads write down.
    private final class Board: Sendable {
        let tally: Guarded<StormTally>
        let letIn = Guarded(BusiestSecond())

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
                if index >= Self.openingWidth, let room = try await group.next() { rooms.append(room) }
                group.addTask {
                    try await client.start()
                    return try await client.open(room: "room-\(index / roomSize)")
                }
            }
            for try await room in group { rooms.append(room) }
            return rooms
        }
    }

    /// Sends a message from every client; returns how many were accepted in time.
    private func sendAll(in rooms: [Room]) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return false
            }
            for room in rooms {
                group.addTask { await (try? room.send("I am back").accepted()) != nil }
            }
            var acceptedCount = 0
            for _ in rooms.indices where await group.next() == true { acceptedCount += 1 }
            group.cancelAll()
            return acceptedCount
        }
    }

    private func text(_ duration: Duration) -> String { Quantity.text(duration) }
}
