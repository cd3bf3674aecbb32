import DatabaseRig
import Foundation
import MartletLink
import MartletPostgres
import MartletRelay
import MartletWire
import Synchronization

/// Compares the store in PostgreSQL with libpq alone, in a server of its own whose commits are synced, and prints a
/// table. The same statements with the same batches are performed in turns of both, alternately.
///
/// usage: bench-postgres [SECONDS]
@main
enum BenchPostgres {
    private static let pageRooms = 100_000

    static func main() async throws {
        let seconds = CommandLine.arguments.dropFirst().first.flatMap { Double($0) } ?? 5
        let server = try Server()
        defer { server.stop() }
        let store = try await PostgresStore(server.uri)
        let libpq = try Libpq(server.uri)
        print("turn of      store, messages/s   libpq, messages/s   ratio (at least 0.8)")
        for count in [100, 1000] {
            let (ours, bare) = try await turns(of: count, seconds, store, libpq)
            print(
                "\(pad("\(count)", 12)) \(pad("\(Int(ours))", 19)) \(pad("\(Int(bare))", 19)) \(decimal(ours / bare))")
        }
        let (ours, commit) = try await waiting(seconds, store, libpq)
        print("one sender that waits: \(decimal(ours * 1e3)) ms; one commit of libpq: \(decimal(commit * 1e3)) ms;")
        print("ratio \(decimal(ours / commit)) (at most 1.3)")
        try await pages(seconds, store, libpq)
        await store.close()
    }

    private static func decimal(_ value: Double) -> String { String(format: "%.2f", value) }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }

    private static func entry(_ offset: UInt64) -> LogEntry {
        LogEntry(
            offset: offset, sender: AccountName("alice"), device: DeviceID(rawValue: 1), counter: offset,
            acceptedAt: 1_700_000_000_000, body: EncodedBody([UInt8](repeating: 0x61, count: 100)))
    }

    /// Messages a second in turns of one message to each of `count` rooms.
    private static func turns(
        of count: Int, _ seconds: Double, _ store: PostgresStore, _ libpq: Libpq
    ) async throws -> (store: Double, libpq: Double) {
        var rooms: [(ours: RoomName, id: Int64, log: LogID)] = []
        for number in 0..<count {
            let (ours, bare) = (RoomName("ours \(count) \(number)")!, RoomName("bare \(count) \(number)")!)
            _ = try await store.call { .load(ours, $0) }
            let log = try await store.call { .load(bare, $0) }.log ?? LogID(rawValue: 0)
            rooms.append((ours, libpq.id(of: bare), log))
        }
        let partCount = 20
        var (ours, bare) = (0.0, 0.0)
        var next: UInt64 = 1
        let end = Date().addingTimeInterval(seconds)
        var turnCount = 0
        while Date() < end {
            let statements = (0..<partCount).map { part in
                PostgresStore.appendStatement(
                    rooms.sorted { $0.id < $1.id }.map {
                        ($0.id, $0.log, RoomAppend(room: $0.ours, entries: [entry(next + UInt64(part))]))
                    })
            }
            let start = Date()
            for statement in statements { libpq.run(statement.text, statement.values, expecting: count) }
            bare += Date().timeIntervalSince(start)
            let begin = Date()
            for part in 0..<partCount {
                let stored = await withCheckedContinuation { continuation in
                    let turn = Turn(count) { continuation.resume(returning: $0) }
                    store.perform(
                        rooms.map { room in
                            .append(
                                RoomAppend(room: room.ours, entries: [entry(next + UInt64(part))]),
                                RoomStoreReply { turn.add($0) })
                        })
                }
                precondition(stored == count, "an append has failed")
            }
            ours += Date().timeIntervalSince(begin)
            next += UInt64(partCount)
            turnCount += partCount
        }
        let messages = Double(turnCount * count)
        return (messages / ours, messages / bare)
    }

    /// Seconds of one append, each after the one before, and of one commit of the same statement.
    private static func waiting(
        _ seconds: Double, _ store: PostgresStore, _ libpq: Libpq
    ) async throws -> (store: Double, libpq: Double) {
        let (ours, other) = (RoomName("ours"), RoomName("other"))
        _ = try await store.call { .load(ours, $0) }
        let log = try await store.call { .load(other, $0) }.log ?? LogID(rawValue: 0)
        let id = libpq.id(of: other)
        var (times, bare): ([Double], [Double]) = ([], [])
        let end = Date().addingTimeInterval(seconds)
        var next: UInt64 = 1
        while Date() < end {
            let append = RoomAppend(room: ours, entries: [entry(next)])
            let statement = PostgresStore.appendStatement([(id, log, append)])
            var start = Date()
            libpq.run(statement.text, statement.values, expecting: 1)
            bare.append(Date().timeIntervalSince(start))
            start = Date()
            _ = try await store.call { .append(append, $0) }
            times.append(Date().timeIntervalSince(start))
            next += 1
        }
        return (times.sorted()[times.count / 2], bare.sorted()[bare.count / 2])
    }

    /// A page of 50 older messages of a random room among many.
    private static func pages(_ seconds: Double, _ store: PostgresStore, _ libpq: Libpq) async throws {
        let room = RoomName("model")
        _ = try await store.call { .load(room, $0) }
        _ = try await store.call { .append(RoomAppend(room: room, entries: (1...10).map { entry($0) }), $0) }
        libpq.execute(
            """
            INSERT INTO rooms (name, log, first_offset, last_offset, byte_count, folded_offset, used_at, roles_version)
            SELECT convert_to('page ' || n, 'UTF8'), n, 1, 100, 10000, 100, 0, 0 FROM generate_series(1, \(pageRooms)) n
            """)
        libpq.execute(
            """
            INSERT INTO batches SELECT r.id, 10 * n + 1, 10, 1000, 1700000000000, '', 0, b.messages
            FROM generate_series(0, 9) n CROSS JOIN rooms r CROSS JOIN batches b JOIN rooms m ON m.id = b.room
            WHERE m.name = 'model' AND r.name LIKE 'page %' ORDER BY n
            """)
        libpq.execute("CHECKPOINT")
        var times: [Double] = []
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            let room = RoomName("page \(Int.random(in: 1...pageRooms))")!
            let start = Date()
            let range = ReadRange(from: .random(in: 1...50), maxCount: 50, maxByteCount: 1 << 20)
            let history = try await store.call { .read(range, of: room, $0) }
            precondition(history.entries.count == 50)
            times.append(Date().timeIntervalSince(start))
        }
        var trips: [Double] = []
        for _ in 0..<1000 {
            let start = Date()
            libpq.execute("SELECT 1")
            trips.append(Date().timeIntervalSince(start))
        }
        (times, trips) = (times.sorted(), trips.sorted())
        let (median, late) = (times[times.count / 2], times[times.count * 99 / 100])
        print("a page of 50 of \(100 * pageRooms) messages in \(pageRooms) rooms: median \(decimal(median * 1e3)) ms,")
        print(
            "p99 \(decimal(late * 1e3)) ms (at most 2 ms and the p99 of a round trip, \(decimal(trips[990] * 1e3)) ms)")
    }
}

/// Counts the answers of a turn.
private final class Turn: Sendable {
    private let count: Int
    private let state = Mutex((answered: 0, stored: 0))
    private let finish: @Sendable (Int) -> Void

    init(_ count: Int, _ finish: @escaping @Sendable (Int) -> Void) {
        self.count = count
        self.finish = finish
    }

    func add(_ result: Result<UInt64, RoomStoreError>) {
        let now = state.withLock { state in
            state.answered += 1
            if case .success = result { state.stored += 1 }
            return state
        }
        if now.answered == count { finish(now.stored) }
    }
}
