import BenchHarness
import CBaselines
import Foundation
import Martlet
import MartletSQLite

/// The start of 100 clients with an outbox in a file each, in this process; its threads afterwards, and the descriptors
/// that it has more than before.
///
/// | subject | files | until |
/// |---|---|---|
/// | martlet | new | all clients, which start at once, have started; there is no relay |
/// | one by one | new | the same, for clients that start one after another |
/// | existing files | of earlier clients, which had a message to send | the same as martlet |
/// | connected | new | all clients have opened a room at a relay in another process, with one socket each |
enum ManyOutboxBenches {
    private static let count = 100
    private static let nowhere = "martlet://127.0.0.1:1"

    static func item(_ options: Options) -> Case {
        Case(
            "outbox/100 clients", per: "start",
            [
                Subject("martlet") { try withFolder { folder in try await start(in: folder, at: nowhere) } },
                Subject("one by one") {
                    try withFolder { folder in try await start(in: folder, at: nowhere, atOnce: false) }
                },
                Subject("existing files") {
                    try withFolder { folder in
                        _ = try await start(in: folder, at: nowhere) { client in
                            let room = try await client.open(room: "bench", options: .init(waitsForRelay: false))
                            _ = try await room.send("a message without a relay")
                        }
                        return try await start(in: folder, at: nowhere)
                    }
                },
                Subject("connected") {
                    let server = try ServerProcess(.martlet, options)
                    defer { server.stop() }
                    let relay = "martlet://127.0.0.1:\(server.port)"
                    return try withFolder { folder in
                        try await start(in: folder, at: relay) { _ = try await $0.open(room: "bench") }
                    }
                },
            ])
    }

    private static func withFolder(_ body: @escaping @Sendable (URL) async throws -> Sample) throws -> Sample {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try wait { try await body(folder) }
    }

    private static func start(
        in folder: URL, at relay: String, atOnce: Bool = true,
        _ body: @escaping @Sendable (Client) async throws -> Void = { _ in }
    ) async throws -> Sample {
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        let clients = try (0..<count).map { index in
            try Client(
                to: relay, as: .anonymous("bot-\(index)"),
                outbox: .sqlite(at: folder.appendingPathComponent("\(index)").path), configuration: configuration)
        }
        let earlier = entries(of: "/proc/self/fd")
        let begin = measure_now()
        if atOnce {
            try await each(clients) { client in
                try await client.start()
                try await body(client)
            }
        } else {
            for client in clients { try await client.start() }
        }
        let sample: Sample = [
            "milliseconds": Double(measure_now() - begin) / 1e6, "threads": entries(of: "/proc/self/task"),
            "descriptors": entries(of: "/proc/self/fd") - earlier,
        ]
        try await each(clients) { await $0.stop() }
        return sample
    }

    private static func each(
        _ clients: [Client], _ body: @escaping @Sendable (Client) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients { group.addTask { try await body(client) } }
            try await group.waitForAll()
        }
    }

    private static func entries(of folder: String) -> Double {
        Double((try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0)
    }
}
