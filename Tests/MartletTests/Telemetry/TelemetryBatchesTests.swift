import MartletLink
import MartletWire
import Testing

@testable import Martlet

/// The machine, at the instants of a script in seconds.
private final class Script {
    private var batches: TelemetryBatches

    init(agent: String? = nil, seed: UInt64 = 1, _ change: (inout Telemetry.Configuration) -> Void = { _ in }) {
        var configuration = Telemetry.Configuration()
        change(&configuration)
        batches = TelemetryBatches(configuration, agent: agent, seed: seed)
    }

    var counts: TelemetryBatches.Counts { batches.counts }
    var isSettled: Bool { batches.isSettled }
    var deadline: Duration? { batches.deadline.map { $0 - .zero } }

    func record(_ point: TelemetryPoint, at seconds: Double) { batches.record(point, now: .zero + .seconds(seconds)) }

    func takeBatch(at seconds: Double) -> [UInt8]? { batches.takeBatch(now: .zero + .seconds(seconds)) }

    func answered(_ answer: TelemetryBatches.Answer, at seconds: Double) {
        batches.answered(answer, now: .zero + .seconds(seconds))
    }

    func flush() { batches.flush() }

    func makeTime(wallClock: UInt64) -> Int64 { batches.makeTime(wallClock: wallClock) }

    /// The numbers of the points of the batch that is due.
    func takeNumbers(at seconds: Double) throws -> [Int64] {
        try TelemetryBatch(parsing: takeBatch(at: seconds)).points.map(\.time)
    }
}

@Suite struct TelemetryBatchesTests {
    private func point(_ number: Int, tag: String = "x") -> TelemetryPoint {
        TelemetryPoint("m", tags: [.init("k", tag)], fields: [.init("f", .integer(Int64(number)))], time: Int64(number))
    }

    // C-115
    @Test func `points of a quiet client → one batch when the first has waited for the interval`() throws {
        let batches = Script(agent: "app/1")
        #expect(batches.deadline == nil && batches.isSettled)
        batches.record(point(1), at: 0)
        batches.record(point(2), at: 9)
        #expect(batches.deadline == .seconds(10) && !batches.isSettled)
        #expect(batches.takeBatch(at: 9.999) == nil)
        let content = try #require(batches.takeBatch(at: 10))
        #expect(try TelemetryBatch(parsing: content).agent == "app/1")
        #expect(try TelemetryBatch(parsing: content).points.map(\.time) == [1, 2])
        batches.record(point(3), at: 10)
        #expect(batches.deadline == nil && batches.takeBatch(at: 100) == nil)
        batches.answered(.accepted, at: 11)
        #expect(batches.deadline == .seconds(20))
        #expect(try batches.takeNumbers(at: 20) == [3])
        batches.answered(.accepted, at: 20)
        #expect(batches.isSettled && batches.counts == counts(recorded: 3, accepted: 3))
    }

    // C-115
    @Test func `many points at once → batches of at most a packet, at once and one after another`() throws {
        let batches = Script(agent: String(repeating: "a", count: 500))
        for number in 0..<100 { batches.record(point(number), at: 1) }
        var found: [Int64] = []
        while let content = batches.takeBatch(at: 1) {
            #expect(content.count <= TelemetryBatch.maxPointByteCount + 12 + TelemetryBatch.maxAgentByteCount)
            found += try TelemetryBatch(parsing: content).points.map(\.time)
            batches.answered(.accepted, at: 1)
        }
        #expect(found == Array(0..<Int64(found.count)) && found.count > 80)
        batches.flush()
        #expect(try batches.takeNumbers(at: 1) == Array(Int64(found.count)..<100))
    }

    // C-115
    @Test func `failed attempts → the same batch after waits that double, and after the requested one`() throws {
        let batches = Script(seed: 7)
        batches.record(point(1), at: 0)
        batches.flush()
        let content = batches.takeBatch(at: 0)
        for longest in [1, 2, 4, 8, 16, 32, 60, 60] {
            batches.answered(.failed(retryAfter: nil), at: 0)
            let wait = try #require(batches.deadline)
            #expect((Duration.seconds(longest) / 2...Duration.seconds(longest)).contains(wait))
            #expect(batches.isSettled && batches.takeBatch(at: 0) == nil)
            #expect(batches.takeBatch(at: 60) == content)
        }
        batches.answered(.failed(retryAfter: .seconds(300)), at: 0)
        #expect(batches.deadline == .seconds(300))
        batches.record(point(2), at: 1)
        #expect(try batches.takeNumbers(at: 300) == [1])
        batches.answered(.accepted, at: 300)
        #expect(try batches.takeNumbers(at: 300) == [2])
    }

    // C-115
    @Test func `a rejected batch → dropped and counted, and the next one is sent`() throws {
        let batches = Script()
        batches.record(point(1), at: 0)
        _ = batches.takeBatch(at: 10)
        batches.record(point(2), at: 10)
        batches.answered(.rejected, at: 10)
        #expect(batches.counts == counts(recorded: 2, dropped: [.rejected: 1], pending: 1))
        #expect(try batches.takeNumbers(at: 20) == [2])
    }

    // C-115
    @Test func `a relay without telemetry → points are dropped for an hour`() throws {
        let batches = Script()
        batches.record(point(1), at: 0)
        _ = batches.takeBatch(at: 10)
        batches.record(point(2), at: 10)
        batches.answered(.declined, at: 10)
        batches.record(point(3), at: 3609)
        #expect(batches.counts == counts(recorded: 3, dropped: [.declined: 3]))
        #expect(batches.isSettled && batches.deadline == nil)
        batches.record(point(4), at: 3610)
        #expect(try batches.takeNumbers(at: 3620) == [4])
    }

    // C-115, Specs/hostile.md row 109
    @Test func `points beyond the bounds → the oldest are dropped, and those of further series`() throws {
        var batches = Script { $0.maxPointCount = 3 }
        for number in 0..<5 { batches.record(point(number), at: 0) }
        #expect(batches.counts == counts(recorded: 5, dropped: [.full: 2], pending: 3))
        #expect(try batches.takeNumbers(at: 10) == [2, 3, 4])
        batches.record(point(5), at: 10)
        #expect(batches.counts == counts(recorded: 6, dropped: [.full: 3], pending: 3))

        batches = Script { $0.maxByteCount = 1 }
        batches.record(point(1), at: 0)
        #expect(batches.counts == counts(recorded: 1, dropped: [.full: 1]))

        batches = Script { $0.maxSeriesCount = 2 }
        for (number, tag) in ["a", "b", "c", "a", "b"].enumerated() {
            batches.record(point(number, tag: tag), at: 0)
        }
        #expect(batches.counts == counts(recorded: 5, dropped: [.cardinality: 1], pending: 4))
        batches.record(TelemetryPoint("m", fields: [], time: 0), at: 0)
        #expect(batches.counts.dropped[.invalid] == 1)
    }

    // C-116
    @Test func `times of one millisecond → different, in order, and within the millisecond`() {
        let batches = Script()
        var times = (0..<100).map { _ in batches.makeTime(wallClock: 1000) }
        #expect(times == times.sorted() && Set(times).count == 100)
        #expect(times[0] / 1_000_000 == 1000)
        // The clock was corrected.
        times = [batches.makeTime(wallClock: 900), batches.makeTime(wallClock: .max)]
        #expect(times[0] / 1_000_000 == 900 && times[1] > 0)
    }

    private func counts(
        recorded: UInt64, accepted: UInt64 = 0, dropped: [TelemetryBatches.DropReason: UInt64] = [:], pending: Int = 0
    ) -> TelemetryBatches.Counts {
        TelemetryBatches.Counts(recorded: recorded, accepted: accepted, dropped: dropped, pending: pending)
    }
}
