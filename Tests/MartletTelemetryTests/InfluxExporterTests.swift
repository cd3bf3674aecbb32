import Foundation
import MartletRelay
import MartletTransport
import MartletWebhook
import Testing

@testable import MartletTelemetry

/// A database that answers each request as a closure decides, and keeps the lines that it has taken.
private final class StubDatabase: Sendable {
    private struct State {
        var bodies: [String] = []
        var waits: [Duration] = []
        var events: [InfluxExporter.Event] = []
    }

    private let state = Guarded(State())
    private let answer: @Sendable (_ body: String, _ number: Int) -> WebhookRetry.Outcome

    init(_ answer: @escaping @Sendable (_ body: String, _ number: Int) -> WebhookRetry.Outcome) { self.answer = answer }

    var bodies: [String] { state.withLock { $0.bodies } }
    var waits: [Duration] { state.withLock { $0.waits } }
    var events: [InfluxExporter.Event] { state.withLock { $0.events } }

    func exporter(_ configuration: InfluxExporter.Configuration) throws -> InfluxExporter {
        try InfluxExporter(configuration) { event in
            self.state.withLock { $0.events.append(event) }
        } post: { bytes in
            let body = String(decoding: bytes, as: UTF8.self)
            let number = self.state.withLock { state in
                state.bodies.append(body)
                return state.bodies.count
            }
            return self.answer(body, number)
        } wait: { duration in
            self.state.withLock { $0.waits.append(duration) }
            await Task.yield()
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct InfluxExporterTests {
    private let source = TelemetrySource(number: 1)
    private var now: Int64 { Int64(EventLoop.wallClock) * 1_000_000 }

    private func withFolder(
        _ change: (inout InfluxExporter.Configuration) -> Void = { _ in },
        _ body: (InfluxExporter.Configuration) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "spool-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = try InfluxExporter.Configuration(
            url: "http://127.0.0.1:8086/write?db=app", spoolFolder: folder)
        change(&configuration)
        try await body(configuration)
    }

    private func point(_ number: Int, _ measurement: String = "m") -> TelemetryPoint {
        TelemetryPoint(measurement, fields: [.init("f", .integer(Int64(number)))], time: now)
    }

    /// Yields until an inevitable event has happened, or until the time limit of the suite cancels the test.
    private func until(_ condition: () -> Bool) async {
        while !Task.isCancelled, !condition() { await Task.yield() }
    }

    //
    @Test func `points → posted with the agent, and removed from the spool`() async throws {
        let database = StubDatabase { _, _ in .answered(status: 204) }
        try await withFolder { configuration in
            let exporter = try database.exporter(configuration)
            let point = point(1)
            #expect(await exporter.write([point], of: "app 1.0", from: source) == .taken)
            await until { exporter.metrics.posted == 1 && exporter.metrics.spoolByteCount == 0 }
            #expect(database.bodies == ["m,client=app\\ 1.0 f=1i \(point.time)\n"])
            #expect(exporter.metrics.accepted == 1 && database.events.isEmpty)
            await exporter.shutdown()
        }
    }

    //
    @Test func `a database that is away, over a restart → the same lines, and each accepted one`() async throws {
        let away = StubDatabase { _, number in number < 4 ? .failed : .answered(status: 503, retryAfter: .seconds(90)) }
        let database = StubDatabase { _, _ in .answered(status: 204) }
        try await withFolder { configuration in
            var exporter: InfluxExporter? = try away.exporter(configuration)
            for number in 0..<20 { #expect(await exporter?.write([point(number)], of: nil, from: source) == .taken) }
            await until { away.bodies.count > 5 }
            #expect(away.events == [.unavailable(status: nil), .unavailable(status: 503)])
            #expect(away.waits.contains(.seconds(90)))
            await exporter?.shutdown()
            exporter = nil
            let again = try database.exporter(configuration)
            await until { again.metrics.posted == 20 && again.metrics.spoolByteCount == 0 }
            let lines = database.bodies.joined().split(separator: "\n")
            #expect(Set(lines).count == 20)
            await again.shutdown()
        }
    }

    //
    @Test(arguments: [400, 413, 422])
    func `lines that the database refuses → dropped alone, counted, and the others are posted`(
        status: Int
    ) async throws {
        let database = StubDatabase { body, _ in
            .answered(status: body.contains("bad") || status == 413 && body.utf8.count > 400 ? status : 204)
        }
        try await withFolder { configuration in
            let exporter = try database.exporter(configuration)
            let points = (0..<50).map { point($0, $0 % 20 == 7 ? "bad" : "good\($0)") }
            #expect(await exporter.write(points, of: nil, from: source) == .taken)
            await until { exporter.metrics.posted + exporter.metrics.rejected == 50 }
            #expect(exporter.metrics.rejected == 3)
            #expect(database.events == Array(repeating: .rejected(count: 1, status: status), count: 3))
            #expect(database.waits.isEmpty)
            await until { exporter.metrics.spoolByteCount == 0 }
            await exporter.shutdown()
        }
    }

    //
    @Test func `a batch of refused lines only → dropped after a bounded number of requests`() async throws {
        let database = StubDatabase { _, _ in .answered(status: 400) }
        try await withFolder { configuration in
            let exporter = try database.exporter(configuration)
            #expect(await exporter.write((0..<1000).map { point($0) }, of: nil, from: source) == .taken)
            await until { exporter.metrics.rejected == 1000 }
            #expect(database.bodies.count < 300)
            await exporter.shutdown()
        }
    }

    //
    @Test(arguments: [401, 403, 404, 302])
    func `a refusal because of the configuration → repeated until it is corrected`(status: Int) async throws {
        let database = StubDatabase { _, number in .answered(status: number < 4 ? status : 204) }
        try await withFolder { configuration in
            let exporter = try database.exporter(configuration)
            #expect(await exporter.write([point(1)], of: nil, from: source) == .taken)
            await until { exporter.metrics.posted == 1 }
            #expect(database.events == [.unavailable(status: status), .recovered])
            #expect(exporter.metrics.failedPosts == 3 && exporter.metrics.rejected == 0)
            #expect(database.waits == Array(repeating: configuration.retry.cap, count: 3))
            await exporter.shutdown()
        }
    }

    // Specs/hostile.md row 109
    @Test func `a full spool, further series and wrong times → refused, dropped and counted`() async throws {
        let database = StubDatabase { _, _ in .failed }
        try await withFolder {
            ($0.maxSpoolByteCount, $0.maxSeriesCount, $0.maxSeriesPerAccountCount) = (1500, 5, 3)
        } _: { configuration in
            let exporter = try database.exporter(configuration)
            let many = (0..<10).map { point($0, "m\($0)") }
            #expect(await exporter.write(many, of: nil, from: source) == .taken)
            #expect(await exporter.write(many, of: "other", from: source) == .taken)
            #expect(exporter.metrics.accepted == 3 && exporter.metrics.beyondCardinality == 17)
            #expect(await exporter.write(many, of: "other", from: TelemetrySource(number: 2)) == .taken)
            #expect(exporter.metrics.accepted == 5)
            var wrong = [point(1), point(1), point(1)]
            wrong[0].time = 0
            wrong[1].time += 3_700_000_000_000
            wrong[2].time = .min
            #expect(await exporter.write(wrong, of: nil, from: source) == .taken)
            #expect(exporter.metrics.outOfTime == 3)
            var answers: [TelemetryAnswer] = []
            for _ in 0..<50 { answers.append(await exporter.write([point(1, "m1")], of: nil, from: source)) }
            #expect(answers.last == .busy(retryAfter: .seconds(10)) && exporter.metrics.spoolByteCount <= 1500)
            let taken = UInt64(answers.count { $0 == .taken })
            #expect(exporter.metrics.accepted == 5 + taken && exporter.metrics.refusedBatches == 50 - taken)
            #expect(database.events.count { $0 == .spoolFull } == 1)
            await exporter.shutdown()
        }
    }

    //
    @Test func `a folder that is removed and created again → one failure and one recovery; in use → says so`()
        async throws
    {
        let database = StubDatabase { _, _ in .answered(status: 204) }
        try await withFolder { configuration in
            let exporter = try database.exporter(configuration)
            do {
                _ = try database.exporter(configuration)
                Issue.record("the spool is used twice")
            } catch { #expect("\(error)" == "another object or process uses it") }
            try FileManager.default.removeItem(atPath: configuration.spoolFolder)
            for _ in 0..<2 { #expect(await exporter.write([point(1)], of: nil, from: source) != .taken) }
            try FileManager.default.createDirectory(
                atPath: configuration.spoolFolder, withIntermediateDirectories: false)
            for _ in 0..<2 { #expect(await exporter.write([point(2)], of: nil, from: source) == .taken) }
            await exporter.shutdown()
            let failures = database.events.filter { if case .spoolFailed = $0 { true } else { false } }
            #expect(failures.count == 1 && database.events.count { $0 == .spoolRecovered } == 1)
        }
    }

    //
    @Test func `the address → the precision is added, and the token is sent as the version requires`() throws {
        var first = try InfluxExporter.Configuration(url: "http://localhost:8086/write?db=app", spoolFolder: "x")
        #expect(first.url == "http://localhost:8086/write?db=app&precision=ns")
        first.token = "user:word"
        #expect(first.fields.contains("Authorization: Basic dXNlcjp3b3Jk"))
        let url = "https://influx.example/api/v2/write?org=a&bucket=b&precision=ns"
        var second = try InfluxExporter.Configuration(url: url, spoolFolder: "x")
        second.token = "secret"
        #expect(second.url == url && second.fields.contains("Authorization: Token secret"))
        for url in ["http://influx.example/write?db=app", "http://localhost/write", "ftp://localhost/?a", ""] {
            #expect(throws: WebhookError.self) { try InfluxExporter.Configuration(url: url, spoolFolder: "x") }
        }
    }
}
