import BenchHarness
import CBaselines
import Dispatch
import Foundation
import Martlet
import MartletSQLite
import Synchronization

/// A send into the outbox in a file by a client without a connection, beside bare inserts of SQLite with the same
/// pragmas, and beside appends of 4 KiB with `fdatasync`. Each subject has a new file on the disk of the temporary
/// folder.
enum OutboxBenches {
    private static let text = String(repeating: "m", count: 64)

    static func cases() -> [Case] {
        [
            Case(
                "outbox/one send", per: "message",
                [
                    Subject("martlet") { try sends(bursts: 300, of: 1) },
                    Subject("SQLite") { try inserts(commits: 300, rows: 1) },
                    Subject("fdatasync") { try syncs(300) },
                ]),
            Case(
                "outbox/burst of 100", per: "burst",
                [
                    Subject("martlet") { try sends(bursts: 50, of: 100) },
                    Subject("SQLite") { try inserts(commits: 50, rows: 100) },
                    Subject("fdatasync") { try syncs(50) },
                ]),
        ]
    }

    private static func withFile(_ body: (String) throws -> UInt64) throws -> UInt64 {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.appendingPathComponent("outbox").path)
    }

    private static func sample(_ elapsed: UInt64, _ count: Int) throws -> Sample {
        guard elapsed > 0 else { throw CocoaError(.fileWriteUnknown) }
        return ["ns": Double(elapsed) / Double(count)]
    }

    private static func inserts(commits: Int, rows: Int) throws -> Sample {
        // As many bytes as the content of a message with the text.
        let bytes = [UInt8](repeating: 109, count: text.utf8.count + 6)
        let elapsed = try withFile { unsafe baseline_sqlite_insert($0, commits, rows, bytes, bytes.count) }
        return try sample(elapsed, commits)
    }

    private static func syncs(_ count: Int) throws -> Sample {
        try sample(try withFile { unsafe baseline_sync($0, count) }, count)
    }

    private static func sends(bursts: Int, of count: Int) throws -> Sample {
        let elapsed = try withFile { path in
            try wait { try await send(bursts, of: count, outbox: path) }
        }
        return try sample(elapsed, bursts)
    }

    private static func send(_ bursts: Int, of count: Int, outbox path: String) async throws -> UInt64 {
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        configuration.maxPendingMessages = bursts * count
        let outbox = SQLiteOutbox(path: path)
        let client = try Client(
            to: "martlet://127.0.0.1:1", as: .anonymous("bench"), outbox: outbox, configuration: configuration)
        let elapsed = try await withClient(client) { client in
            let room = try await client.open(room: "bench", options: Room.Options(waitsForRelay: false))
            let begin = measure_now()
            for _ in 0..<bursts {
                if count == 1 {
                    try await room.send(text)
                } else {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<count { group.addTask { try await room.send(text) } }
                        try await group.waitForAll()
                    }
                }
            }
            return measure_now() - begin
        }
        await outbox.close()
        return elapsed
    }

    /// Waits for an asynchronous trial. The caller's thread is not one of the concurrency pool.
    private static func wait(_ body: @escaping @Sendable () async throws -> UInt64) throws -> UInt64 {
        let done = DispatchSemaphore(value: 0)
        let box = ResultBox()
        Task.detached {
            do { box.set(.success(try await body())) } catch { box.set(.failure(error)) }
            done.signal()
        }
        done.wait()
        return try box.value.get()
    }

    private final class ResultBox: Sendable {
        private let result = Mutex<Result<UInt64, any Error>>(.success(0))

        var value: Result<UInt64, any Error> { result.withLock { $0 } }

        func set(_ value: Result<UInt64, any Error>) { result.withLock { $0 = value } }
    }
}
