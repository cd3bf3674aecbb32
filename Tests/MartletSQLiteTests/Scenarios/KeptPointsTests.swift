import Martlet
import MartletRelay
import MartletSQLite
import MartletTransport
import Testing

/// A sink that keeps the points.
private final class Sink: TelemetrySink {
    private let state = Guarded<[TelemetryPoint]>([])
    var points: [TelemetryPoint] { state.withLock { $0 } }
    var metrics: TelemetryMetrics { TelemetryMetrics() }

    func write(
        _ points: [TelemetryPoint], of agent: String?, from source: TelemetrySource
    ) async -> TelemetryAnswer {
        state.withLock { $0 += points }
        return .taken
    }
}

/// Points of clients that are started one after the other with the same outbox.
@Suite("Points in the file of an outbox", .timeLimit(.minutes(10)))
struct KeptPointsTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("outbox")
    }

    // C-115
    @Test func `points of clients without a connection → each once at the relay after a restart, at its time`()
        async throws
    {
        let telemetry = Telemetry.Configuration()
        for part in 0..<2 {
            try await withClient("alice", at: nowhere, outbox: path, telemetry: telemetry) { alice in
                for number in 0..<60 {
                    let time = Int64(part * 60 + number + 1)
                    alice.telemetry.record("m", fields: ["f": .integer(time)], at: time)
                }
            }
        }
        let kept = try await SQLiteOutbox(path: path).open().points
        #expect(kept.count > 2 && kept.reduce(0) { $0 + $1.count } == 120)
        let sink = Sink()
        try await withRelay(telemetry: sink) { relay in
            for _ in 0..<2 {
                try await withClient("alice", at: relay, outbox: path, telemetry: telemetry) { alice in
                    _ = try await alice.open(room: "lobby")
                    alice.telemetry.record("last", fields: ["f": 1], at: 1000)
                }
            }
        }
        let points = sink.points
        #expect(points.prefix(120).map(\.time) == (1...120).map { $0 })
        #expect(points.dropFirst(120).map(\.measurement) == ["last", "last"])
        #expect(try await SQLiteOutbox(path: path).open().points.isEmpty)
    }
}
