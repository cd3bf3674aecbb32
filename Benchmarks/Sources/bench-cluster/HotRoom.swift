import DatabaseRig
import Foundation
import Martlet

/// One room to which eight clients publish without a pause: each at a relay of its own, and all at one relay.
enum HotRoom {
    private static let publisherCount = 8
    private static let warmUp = Duration.seconds(1)
    private static let text = String(repeating: "m", count: 64)

    /// What the publishers of a room had: the numbers of accepted messages, and the sorted durations until acceptance.
    private struct Outcome {
        let perSecond: Double
        let counts: [Double]
        let times: [Double]
        /// The messages of an append that was stored, and the transactions of the database for each.
        let append: (messages: Double, transactions: Double)

        /// Jain's index: 1 if all have the same number, 1/n if one has all.
        var fairness: Double {
            let (sum, squares) = (counts.reduce(0, +), counts.reduce(0) { $0 + $1 * $1 })
            return sum * sum / (Double(counts.count) * squares)
        }
    }

    /// The relays of a measurement, and their bus.
    private struct Setup: Hashable {
        let relayCount: Int
        let bus: Bus
        let window: Int
    }

    static func run(_ seconds: Double, _ bars: inout Bars) async throws {
        let nats = try NATSServer()
        defer { nats.stop() }
        try await run([], seconds, &bars)
        // The disk of a server is seldom as fast as this one. Each commit waits for 2 ms.
        try await run(["commit_delay=2000", "commit_siblings=0"], seconds, &bars)
    }

    private static func run(_ settings: [String], _ seconds: Double, _ bars: inout Bars) async throws {
        let server = try Server(settings)
        defer { server.stop() }
        let libpq = try Libpq(server.uri)
        libpq.execute("CREATE TABLE public.commits AS SELECT 0::bigint AS number")
        var commits = times(of: libpq)
        var outcomes: [Setup: Outcome] = [:]
        let groups = [(1, Bus.notify), (publisherCount, .nats), (publisherCount, .notify)]
        for (relayCount, bus) in groups {
            let relays = try (0..<relayCount).map { _ in try RelayProcess(server.uri, bus) }
            defer { for relay in relays { relay.stop() } }
            for window in [1, 32] {
                let setup = Setup(relayCount: relayCount, bus: bus, window: window)
                outcomes[setup] = try await load(relays, setup, seconds, libpq)
            }
        }
        commits = (commits + times(of: libpq)).sorted()
        let commit = commits.percentile(0.5)
        print("a hot room with 8 publishers; one commit of libpq takes \(decimal(commit * 1e3)) ms")
        for window in [1, 32] {
            for (relayCount, bus) in groups {
                guard let outcome = outcomes[Setup(relayCount: relayCount, bus: bus, window: window)] else { continue }
                print(
                    "  \(relayCount) relay(s), \(bus.rawValue), \(window) in flight each:",
                    "\(Int(outcome.perSecond)) messages/s,",
                    "accepted after \(decimal(outcome.times.percentile(0.5) * 1e3)) ms (p50),",
                    "\(decimal(outcome.times.percentile(0.99) * 1e3)) ms (p99), fairness \(decimal(outcome.fairness)),",
                    "\(decimal(outcome.append.messages)) messages and",
                    "\(decimal(outcome.append.transactions)) transactions for each append")
            }
        }
        guard let one = outcomes[Setup(relayCount: 1, bus: .notify, window: 32)] else { return }
        for bus in [Bus.nats, .notify] {
            guard let alone = outcomes[Setup(relayCount: publisherCount, bus: bus, window: 1)],
                let full = outcomes[Setup(relayCount: publisherCount, bus: bus, window: 32)]
            else { return }
            let what = "of 8 relays over \(bus.rawValue)"
            bars.check(
                "messages/s \(what) by those of one, 32 in flight", full.perSecond / one.perSecond, atLeast: 0.5)
            bars.check("p99 \(what) in commits, one in flight", alone.times.percentile(0.99) / commit, atMost: 10)
            bars.check("fairness \(what), 32 in flight", full.fairness, atLeast: 0.9)
            bars.check("fairness \(what), one in flight", alone.fairness, atLeast: 0.9)
        }
    }

    /// The durations of synced commits of an idle database.
    private static func times(of libpq: Libpq) -> [Double] {
        (0..<500).map { _ in
            let start = Date()
            libpq.execute("UPDATE public.commits SET number = number + 1")
            return Date().timeIntervalSince(start)
        }
    }

    private static func load(
        _ relays: [RelayProcess], _ setup: Setup, _ seconds: Double, _ libpq: Libpq
    ) async throws -> Outcome {
        var clients: [Client] = []
        var rooms: [Room] = []
        let name = "hot \(setup.relayCount) \(setup.bus.rawValue) \(setup.window)"
        for index in 0..<publisherCount {
            let client = try await relays[index % relays.count].client("publisher \(index)")
            clients.append(client)
            rooms.append(try await client.open(room: name))
        }
        let before = statistics(libpq)
        let begin = ContinuousClock.now + warmUp
        let end = begin + .seconds(seconds)
        let times = try await withThrowingTaskGroup(of: (Int, [Double]).self) { group in
            for (index, room) in rooms.enumerated() {
                for _ in 0..<setup.window { group.addTask { (index, try await publish(to: room, begin, end)) } }
            }
            return try await group.reduce(into: [[Double]](repeating: [], count: rooms.count)) { $0[$1.0] += $1.1 }
        }
        for client in clients { await client.stop() }
        // A backend reports its counts once a second.
        try await Task.sleep(for: .milliseconds(1500))
        let after = statistics(libpq)
        let messages: Double = libpq.number(
            "SELECT avg(count) FROM batches WHERE room = (SELECT id FROM rooms WHERE name = '\(name)')")
        let counts = times.map { Double($0.count) }
        return Outcome(
            perSecond: counts.reduce(0, +) / seconds, counts: counts, times: times.joined().sorted(),
            append: (messages, (after.transactions - before.transactions) / (after.appends - before.appends)))
    }

    /// The transactions and the stored appends of the database so far.
    private static func statistics(_ libpq: Libpq) -> (transactions: Double, appends: Double) {
        (
            libpq.number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"),
            libpq.number("SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'batches'")
        )
    }

    /// Publishes one message after another, and returns the durations until acceptance of those accepted between two
    /// instants.
    private static func publish(
        to room: Room, _ begin: ContinuousClock.Instant, _ end: ContinuousClock.Instant
    ) async throws -> [Double] {
        var times: [Double] = []
        while true {
            let start = ContinuousClock.now
            try await room.send(text).accepted()
            let accepted = ContinuousClock.now
            if accepted > end { return times }
            if accepted > begin { times.append((accepted - start) / .seconds(1)) }
        }
    }
}
