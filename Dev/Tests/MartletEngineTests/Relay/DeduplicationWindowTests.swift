import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct DeduplicationWindowTests {
    /// The reference: a set of all taken counters. Counters far below the highest count as taken.
    private struct Model {
        var seen: Set<UInt64> = []
        var highest: UInt64 = 0

        func contains(_ counter: UInt64) -> Bool {
            counter <= highest && (highest - counter >= CounterWindow.count || counter == 0 || seen.contains(counter))
        }

        mutating func insert(_ counter: UInt64) {
            if counter > highest || highest - counter < CounterWindow.count { seen.insert(counter) }
            highest = max(highest, counter)
        }
    }

    private func run(_ counter: UInt64, _ count: UInt32 = 1, at offset: UInt64) -> AcceptedRun {
        AcceptedRun(firstCounter: counter, count: count, firstOffset: offset)
    }

    //
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `random counters give the results of a set of all counters`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var window = CounterWindow(watermark: 0)
        var model = Model()
        for _ in 0..<400 {
            let jump: UInt64 = [1, 3, 70, 200][Int(random.next() % 4)]
            let counter = max(1, model.highest + 1 + random.next() % jump - min(model.highest, random.next() % 80))
            #expect(window.contains(counter) == model.contains(counter))
            // A run of new counters, up to more than the window holds.
            var end = counter
            let longest: UInt64 = [1, 3, 80][Int(random.next() % 3)]
            while end - counter < longest, !model.contains(end) { end += 1 }
            if end > counter {
                window.insert(counter...end - 1)
                for each in counter..<end { model.insert(each) }
                #expect((counter..<end).allSatisfy { window.contains($0) })
            }
            #expect(window.watermark == model.highest)
            for other in model.highest - min(model.highest, 70)...model.highest + 2 {
                #expect(window.contains(other) == model.contains(other))
            }
        }
    }

    @Test func `counters at the end of 64 bits are taken once`() {
        var mark = DeduplicationWindow(DeviceRecord(watermark: .max - 2))
        #expect(mark.find(.max - 2) == .duplicate(offset: nil))
        #expect(mark.find(.max) == .new)
        mark.append(run(.max, at: 1))
        #expect(mark.find(.max) == .duplicate(offset: 1))
        #expect(mark.find(.max - 1) == .new)
        mark.append(run(.max - 1, at: 2))
        #expect(mark.find(.max - 1) == .duplicate(offset: 2))
        #expect(mark.find(1) == .duplicate(offset: nil))
    }

    @Test func `a repeated counter gives its offset for a bounded number of runs`() {
        var mark = DeduplicationWindow()
        for counter in 1...7 as ClosedRange<UInt64> { mark.append(run(counter, at: 100 + counter)) }
        mark.append(run(8, 3, at: 108))
        #expect(mark.find(4) == .duplicate(offset: 104))
        // Each message that begins a run removes the oldest run.
        for number in 0..<UInt64(DeduplicationWindow.maxRuns) { mark.append(run(20 + number, at: 200 + 2 * number)) }
        #expect(mark.find(4) == .duplicate(offset: nil))
        #expect(mark.find(20) == .duplicate(offset: 200))
    }

    @Test func `appended counters are durable when confirmed, and new again after a rollback`() {
        var mark = DeduplicationWindow()
        mark.append(run(1, 5, at: 1))
        mark.confirm(run(1, 2, at: 1))
        #expect(mark.isDurable(2) && !mark.isDurable(3))
        mark.append(run(9, at: 9))
        mark.rollBack(to: 2)
        #expect(mark.find(2) == .duplicate(offset: 2))
        for counter in [3, 5, 9] as [UInt64] { #expect(mark.find(counter) == .new) }
        mark.append(run(3, at: 3))
        #expect(mark.find(3) == .duplicate(offset: 3))
        mark.rollBack(to: 0)
        #expect(mark.find(3) == .new)
    }

    @Test func `a rollback of a first counter beyond 63 bits → its digest is removed`() {
        var mark = DeduplicationWindow()
        let entry = LogEntry(
            offset: 1, sender: .alice, device: DeviceID(rawValue: 1), counter: .max, acceptedAt: 1,
            body: EncodedBody([]), window: 0, digest: 7)
        mark.append([entry])
        #expect(mark.find(.max, digest: 9) == .reused)
        mark.rollBack(to: 0)
        #expect(mark.find(.max, digest: 9) == .new)
    }

    @Test func `a run is extended by its next messages only`() {
        let run = AcceptedRun(firstCounter: 5, count: 2, firstOffset: 9)
        let others = [(7, 11), (8, 11), (7, 12), (7, 0)].map { counter, offset in
            AcceptedRun(firstCounter: counter, count: offset == 0 ? 1 : 4, firstOffset: offset)
        }
        #expect(
            others.map { run.extended(by: $0) }
                == [AcceptedRun(firstCounter: 5, count: 6, firstOffset: 9), nil, nil, nil])
        #expect(self.run(.max, at: 9).extended(by: self.run(5, at: 10)) == nil)
        #expect(self.run(1, at: 0).extended(by: self.run(2, at: 1)) == nil)
        #expect(self.run(1, .max, at: 1).extended(by: self.run(1 << 32, at: 1 << 32)) == nil)
    }

    //
    @Test func `below the window skipped counters are too old, and taken ones are duplicates`() {
        var mark = DeduplicationWindow()
        for each in [run(1, 3, at: 1), run(1000, at: 4)] {
            mark.append(each)
            mark.confirm(each)
        }
        #expect(mark.find(2) == .duplicate(offset: 2))
        #expect(mark.find(4) == .tooOld)
        #expect(mark.find(936) == .tooOld)
        #expect(mark.find(937) == .new)
        // A counter taken within the window remains taken when the window advances.
        mark.append(run(950, at: 5))
        mark.confirm(run(950, at: 5))
        for number in 0..<UInt64(DeduplicationWindow.maxRuns) {
            let each = run(2000 + 2 * number, at: 10 + number)
            mark.append(each)
            mark.confirm(each)
        }
        #expect(mark.find(949) == .tooOld)
        #expect(mark.find(950) == .duplicate(offset: nil))
        #expect(mark.find(951) == .tooOld)
    }

    //
    @Test func `counters up to the store's watermark are duplicates`() {
        var mark = DeduplicationWindow(DeviceRecord(watermark: 500))
        #expect(mark.find(7) == .duplicate(offset: nil))
        mark.append(run(700, at: 1))
        mark.confirm(run(700, at: 1))
        #expect(mark.find(500) == .duplicate(offset: nil))
        #expect(mark.find(501) == .tooOld)
    }

    //
    @Test func `a counter far above the highest is refused, except for a device's first`() {
        var mark = DeduplicationWindow()
        #expect(mark.find(.max) == .new)
        mark.append(run(10, at: 1))
        #expect(mark.find(10 + DeduplicationWindow.maxAdvance) == .new)
        #expect(mark.find(11 + DeduplicationWindow.maxAdvance) == .tooFarAhead)
        #expect(mark.find(.max) == .tooFarAhead)
    }

    //
    @Test func `of too many gaps the widest are kept`() {
        var mark = DeduplicationWindow(DeviceRecord(watermark: 1))
        var next: UInt64 = 100_000
        for _ in 0..<2 * DeduplicationWindow.maxGaps {
            mark.append(run(next, at: next))
            mark.confirm(run(next, at: next))
            next += 2
        }
        for _ in 0..<64 {
            mark.append(run(next, at: next))
            mark.confirm(run(next, at: next))
            next += 1
        }
        #expect(mark.find(50_000) == .tooOld)
    }
}

//
@Suite struct CounterDigestTests {
    private func entries(_ messages: [(counter: UInt64, digest: UInt16)], at offset: UInt64 = 1) -> ArraySlice<LogEntry>
    {
        messages.enumerated().map { index, message in
            LogEntry(
                offset: offset + UInt64(index), sender: .alice, device: DeviceID(rawValue: 1),
                counter: message.counter, acceptedAt: 1, body: EncodedBody([]), window: 0, digest: message.digest)
        }[...]
    }

    private func run(_ counter: UInt64, at offset: UInt64) -> AcceptedRun {
        AcceptedRun(firstCounter: counter, count: 1, firstOffset: offset)
    }

    @Test func `a taken counter with another digest → reused; with the same or an unknown one → a duplicate`() {
        var window = DeduplicationWindow()
        window.append(entries([(5, 70), (6, 0)]))
        #expect(window.find(5, digest: 71) == .reused)
        #expect(window.find(5, digest: 70) == .duplicate(offset: 1))
        #expect(window.find(5) == .duplicate(offset: 1))
        #expect(window.find(6, digest: 71) == .duplicate(offset: 2))
        #expect(window.find(4, digest: 71) == .new && window.find(7, digest: 71) == .new)
    }

    @Test func `a taken counter below the window → a duplicate with any digest`() {
        var window = DeduplicationWindow()
        window.append(entries((1...65).map { ($0, 70) }))
        #expect(window.find(1, digest: 71) == .duplicate(offset: 1))
        #expect(window.find(2, digest: 71) == .reused)
    }

    @Test func `messages that are rolled back → their digests are unknown, and those of earlier counters too`() {
        var window = DeduplicationWindow()
        window.append(entries([(1, 70), (2, 70)]))
        window.confirm(run(1, at: 1))
        window.confirm(run(2, at: 2))
        window.append(entries([(65, 90), (67, 90)], at: 3))
        window.rollBack(to: 2)
        #expect(window.find(1, digest: 71) == .duplicate(offset: 1))
        #expect(window.find(2, digest: 71) == .duplicate(offset: 2))
        #expect(window.find(65, digest: 71) == .new)
        window.append(entries([(3, 91)], at: 3))
        #expect(window.find(3, digest: 90) == .reused)
    }

    //
    @Test func `a record that was stored → the digests of its counters`() {
        var record = DeviceRecord()
        record.insert(countersOf: entries([(5, 70), (7, 80)]))
        let loaded = DeviceRecord(
            watermark: record.watermark, seen: record.seen, gaps: record.gaps, digests: record.digests)
        let window = DeduplicationWindow(loaded)
        #expect(window.find(5, digest: 71) == .reused && window.find(7, digest: 81) == .reused)
        #expect(window.find(5, digest: 70) == .duplicate(offset: nil) && window.find(6, digest: 1) == .new)
        #expect(DeviceRecord(watermark: 7, digests: [1, 2]).digests.isEmpty)
    }
}
