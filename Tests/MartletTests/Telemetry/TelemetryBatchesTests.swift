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

    func restore(_ points: [OutboxPoints]) { batches.restore(points) }

    func keep(at seconds: Double) { batches.keep(now: .zero + .seconds(seconds)) }

    func takeChanges() -> TelemetryBatches.Changes { batches.takeChanges() }

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

    private func numbers(_ points: [OutboxPoints]) throws -> [[Int64]] {
        try points.map { try TelemetryBatch(parsing: $0.content).points.map(\.time) }
    }

    // C-115
    @Test func `points that are due while the client is offline → kept in a batch that grows, and sent as kept`() throws
    {
        let batches = Script()
        batches.record(point(1), at: 0)
        batches.keep(at: 9)
        #expect(batches.takeChanges().isEmpty)
        batches.keep(at: 10)
        let first = batches.takeChanges()
        #expect(try numbers(first.kept) == [[1]] && first.kept[0].count == 1 && first.removed.isEmpty)
        batches.record(point(2), at: 11)
        batches.keep(at: 20)
        #expect(batches.takeChanges().isEmpty)
        batches.keep(at: 21)
        let second = batches.takeChanges()
        #expect(try numbers(second.kept) == [[1, 2]] && second.kept[0].id == first.kept[0].id)
        for number in 3..<60 { batches.record(point(number), at: 22) }
        batches.keep(at: 22)
        let full = batches.takeChanges()
        #expect(full.kept.count > 1 && Set(full.kept.map(\.id)).count == full.kept.count)
        #expect(full.kept.allSatisfy { $0.content.count <= TelemetryBatch.maxPointByteCount + 12 })
        #expect(batches.counts.pending == 59 && !batches.isSettled && batches.deadline == .zero)
        var sent: [[UInt8]] = []
        for batch in full.kept {
            sent.append(try #require(batches.takeBatch(at: 23)))
            batches.answered(.accepted, at: 23)
            #expect(batches.takeChanges() == .init(kept: [], removed: [batch.id]))
        }
        #expect(sent == full.kept.map(\.content))
        #expect(batches.counts.accepted == UInt64(full.kept.reduce(0) { $0 + $1.count }))
    }

    // C-115
    @Test func `a batch that was sent online and accepted → no change of the outbox`() {
        let batches = Script()
        batches.record(point(1), at: 0)
        _ = batches.takeBatch(at: 10)
        batches.answered(.accepted, at: 10)
        #expect(batches.takeChanges().isEmpty)
    }

    // C-115
    @Test func `a batch without an answer → kept, not extended, and removed when it is taken or rejected`() throws {
        for answer in [TelemetryBatches.Answer.accepted, .rejected, .declined] {
            let batches = Script()
            batches.record(point(1), at: 0)
            let content = batches.takeBatch(at: 10)
            batches.record(point(2), at: 10)
            batches.keep(at: 20)
            let kept = batches.takeChanges().kept
            #expect(try numbers(kept) == [[1], [2]] && kept[0].content == content)
            batches.answered(.failed(retryAfter: nil), at: 20)
            batches.keep(at: 20)
            #expect(batches.takeChanges().isEmpty)
            #expect(batches.takeBatch(at: 30) == content)
            batches.answered(answer, at: 30)
            #expect(batches.takeChanges().removed == Array(kept.map(\.id)[..<(answer == .declined ? 2 : 1)]))
        }
    }

    // C-115
    @Test func `batches of an earlier client → sent first and unchanged; new ones have higher IDs`() throws {
        let earlier = Script(agent: "app/1")
        for number in 0..<3 {
            earlier.record(point(number), at: Double(number))
            _ = earlier.takeBatch(at: 100)
            earlier.keep(at: 100)
        }
        let kept = earlier.takeChanges().kept
        #expect(try numbers(kept) == [[0], [1, 2]])
        let batches = Script(agent: "app/2")
        batches.record(point(3), at: 0)
        batches.restore(kept)
        #expect(batches.counts == counts(recorded: 1, pending: 4))
        batches.keep(at: 10)
        let added = batches.takeChanges().kept
        #expect(try numbers(added) == [[3]] && added[0].id > kept[1].id)
        for content in kept.map(\.content) + added.map(\.content) {
            #expect(batches.takeBatch(at: 10) == content)
            batches.answered(.accepted, at: 10)
        }
        #expect(batches.isSettled && batches.counts == counts(recorded: 1, accepted: 4))
    }

    // C-115, Specs/hostile.md row 123
    @Test
    func `kept batches beyond the bounds, or not valid → the oldest dropped, counted and removed, not one in flight`()
        throws
    {
        func kept(_ id: UInt64, count: Int = 2, byteCount: Int = 100) -> OutboxPoints {
            OutboxPoints(id: id, content: [UInt8](repeating: 0, count: byteCount), count: count)
        }
        let batches = Script { $0.maxPointCount = 5 }
        batches.restore([kept(1), kept(2), kept(3), kept(4, count: 0), kept(5, byteCount: 5000)])
        #expect(batches.takeChanges().removed == [4, 5, 1])
        #expect(batches.counts == counts(recorded: 0, dropped: [.full: 2], pending: 4))
        #expect(batches.takeBatch(at: 0) != nil)
        for number in 0..<2 { batches.record(point(number), at: 0) }
        #expect(batches.takeChanges().removed == [3])
        #expect(batches.counts == counts(recorded: 2, dropped: [.full: 4], pending: 4))
        let bytes = Script { $0.maxByteCount = 150 }
        bytes.restore([kept(1), kept(2)])
        #expect(bytes.takeChanges().removed == [1])
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
