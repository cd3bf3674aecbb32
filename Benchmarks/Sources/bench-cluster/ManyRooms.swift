import DatabaseRig
import Foundation
import Martlet

/// A relay of a database with many rooms: the time of its start, and its memory beside that with an empty database.
enum ManyRooms {
    private static let roomCount = 1_000_000
    private static let openedCount = 100
    private static let startCount = 3

    /// Medians of several starts; the time is the longest.
    private struct Figures {
        var seconds = 0.0
        var megabytes: [Double] = []
        var megabytesWithRooms: [Double] = []
    }

    static func run(_ bars: inout Bars) async throws {
        let server = try Server()
        defer { server.stop() }
        let empty = try await starts(server.uri) { "empty \($0)" }
        try await fill(server.uri)
        let many = try await starts(server.uri) { _ in "room \(Int.random(in: 1...roomCount))" }
        print("a relay of a database with \(roomCount) rooms")
        for (name, figures) in [("no rooms", empty), ("\(roomCount) rooms", many)] {
            print(
                "  \(name): welcome after \(decimal(figures.seconds)) s,",
                "\(decimal(figures.megabytes[startCount / 2])) MB resident,",
                "\(decimal(figures.megabytesWithRooms[startCount / 2])) MB with \(openedCount) open rooms")
        }
        bars.check("seconds until the first welcome", many.seconds, atMost: 2)
        bars.check(
            "MB more than with an empty database",
            many.megabytes[startCount / 2] - empty.megabytes[startCount / 2], atMost: 5)
        bars.check(
            "MB more with \(openedCount) open rooms",
            many.megabytesWithRooms[startCount / 2] - empty.megabytesWithRooms[startCount / 2], atMost: 5)
    }

    private static func starts(_ database: String, _ name: (Int) -> String) async throws -> Figures {
        var figures = Figures()
        for _ in 0..<startCount {
            let relay = try RelayProcess(database)
            defer { relay.stop() }
            let client = try await relay.client("first")
            for await status in client.status where status.isOnline { break }
            figures.seconds = max(figures.seconds, (ContinuousClock.now - relay.startedAt) / .seconds(1))
            try await Task.sleep(for: .seconds(2))
            figures.megabytes.append(relay.residentMegabytes)
            for number in 1...openedCount { _ = try await client.open(room: name(number)) }
            try await Task.sleep(for: .seconds(2))
            figures.megabytesWithRooms.append(relay.residentMegabytes)
            await client.stop()
        }
        figures.megabytes.sort()
        figures.megabytesWithRooms.sort()
        return figures
    }

    /// Copies the message of one room to many.
    private static func fill(_ database: String) async throws {
        let relay = try RelayProcess(database)
        defer { relay.stop() }
        let client = try await relay.client("author")
        try await client.open(room: "model").send(String(repeating: "m", count: 64)).accepted()
        await client.stop()
        let libpq = try Libpq(database)
        libpq.execute(
            """
            INSERT INTO rooms (name, log, first_offset, last_offset, byte_count, folded_offset, used_at, roles_version)
            SELECT convert_to('room ' || n, 'UTF8'), n, 1, 1, byte_count, 1, used_at, 0
            FROM rooms CROSS JOIN generate_series(1, \(roomCount)) n WHERE name = 'model'
            """)
        libpq.execute(
            """
            INSERT INTO batches SELECT r.id, b.first_offset, b.count, b.byte_count, b.accepted_at, '', 0, b.messages
            FROM rooms r CROSS JOIN batches b JOIN rooms m ON m.id = b.room
            WHERE m.name = 'model' AND r.name LIKE 'room %'
            """)
        libpq.execute("VACUUM ANALYZE")
        libpq.execute("CHECKPOINT")
    }
}
