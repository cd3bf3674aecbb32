import Martlet
import MartletRelay
import MartletTransport
import Testing

/// A sink that keeps the points, and answers the first requests with busy.
private final class KeptPoints: TelemetrySink {
    private struct State {
        var points: [TelemetryPoint] = []
        var agents: Set<String?> = []
        var sources: Set<TelemetrySource> = []
        var busyCount: Int
    }

    private let state: Guarded<State>

    init(busyCount: Int = 0) { state = Guarded(State(busyCount: busyCount)) }

    var points: [TelemetryPoint] { state.withLock { $0.points } }
    var agents: Set<String?> { state.withLock { $0.agents } }
    var sourceCount: Int { state.withLock { $0.sources.count } }
    var metrics: TelemetryMetrics { TelemetryMetrics() }

    func write(
        _ points: [TelemetryPoint], of agent: String?, from source: TelemetrySource
    ) async -> TelemetryAnswer {
        state.withLock { state in
            state.busyCount -= 1
            if state.busyCount >= 0 { return .busy(retryAfter: .milliseconds(1)) }
            state.points += points
            state.agents.insert(agent)
            state.sources.insert(source)
            return .taken
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct TelemetryTests {
    private func configuration(interval: Duration = .milliseconds(1)) -> Client.Configuration {
        var configuration = Client.Configuration.patient
        configuration.agent = "app 1.0"
        configuration.telemetry = Telemetry.Configuration()
        configuration.telemetry?.interval = interval
        return configuration
    }

    // C-115, R-190
    @Test func `points of a client → each once at the sink, with the agent, and counted`() async throws {
        let sink = KeptPoints(busyCount: 1)
        try await withRelay(telemetry: sink) { address in
            let client = try Client(to: address, as: .anonymous("alice"), configuration: configuration())
            client.telemetry.record("before", fields: ["value": 1], at: 5)
            try await client.start()
            for number in 0..<200 {
                client.telemetry.record(
                    "m", tags: ["k": "v"], fields: ["f": .integer(Int64(number)), "g": 0.5, "ok": true])
            }
            await until { await client.metrics["martlet_client_telemetry_pending"] == 0 }
            #expect(sink.points.count == 201 && sink.agents == ["app 1.0"] && sink.sourceCount == 1)
            #expect(sink.points[0].time == 5 && Set(sink.points.map(\.time)).count == 201)
            let numbers = sink.points.dropFirst().map { $0.fields[0].value }
            #expect(numbers == (0..<200).map { .integer(Int64($0)) })
            let metrics = await client.metrics
            #expect(metrics["martlet_client_telemetry_recorded"] == 201)
            #expect(metrics["martlet_client_telemetry_accepted"] == 201)
            await client.stop()
        }
    }

    // C-115
    @Test func `a client that stops → its last points are sent first`() async throws {
        let sink = KeptPoints()
        try await withRelay(telemetry: sink) { address in
            let client = try Client(
                to: address, as: .anonymous("alice"), configuration: configuration(interval: .seconds(3600)))
            try await client.start()
            let room = try await client.open(room: "lobby")
            client.telemetry.record("m", fields: ["f": "text"])
            await client.stop()
            #expect(sink.points.count == 1)
            withExtendedLifetime(room) {}
        }
    }

    // C-115
    @Test func `a relay without a sink, and a client without telemetry → points are dropped`() async throws {
        try await withRelay { address in
            let client = try Client(to: address, as: .anonymous("alice"), configuration: configuration())
            try await client.start()
            client.telemetry.record("m", fields: ["f": 1])
            let declined = Metric.Label(name: "reason", value: "declined")
            await until { await client.metrics["martlet_client_telemetry_dropped", declined] == 1 }
            await client.stop()
            let other = try Client(to: address, as: .anonymous("bob"), configuration: .patient)
            try await other.start()
            other.telemetry.record("m", fields: ["f": 1])
            #expect(await other.metrics["martlet_client_telemetry_recorded"] == 0)
            await other.stop()
        }
    }

    //
    @Test func `tags with the name of the account, and contents that are no batches → dropped, refused`() async throws {
        let sink = KeptPoints()
        try await withRelay(telemetry: sink) { address in
            let client = try Client(to: address, as: .anonymous("alice"), configuration: configuration())
            try await client.start()
            client.telemetry.record("m", tags: ["user": "alice"], fields: ["f": 1])
            client.telemetry.record("m", tags: ["user": "none"], fields: ["f": 1])
            await until { await client.metrics["martlet_client_telemetry_accepted"] == 2 }
            #expect(sink.points.map { $0.tags[0].value } == ["none"])
            await #expect(throws: MartletError.self) { try await client.request("telemetry.write") }
            let room = try await client.open(room: "lobby")
            await #expect(throws: MartletError.self) { try await room.request("telemetry.write") }
            await client.stop()
        }
    }

    @Test func `bounds below 1 → an invalid configuration`() {
        var configuration = configuration()
        configuration.telemetry?.maxSeriesCount = 0
        #expect(throws: MartletError.invalidConfiguration("telemetry.maxSeriesCount is 0, not at least 1")) {
            try Client(to: "martlet://127.0.0.1", as: .anonymous("alice"), configuration: configuration)
        }
    }
}
