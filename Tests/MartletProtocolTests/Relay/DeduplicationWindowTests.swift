import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct DeduplicationWindowTests {
    /// What the window stands for: a set of all counters seen, of which those far below the highest count as seen.
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
    func `a window answers as a set of all counters would`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var window = CounterWindow(watermark: 0)
        var model = Model()
        for _ in 0..<400 {
            let jump: UInt64 = [1, 3, 70, 200][Int(random.next() % 4)]
            let counter = max(1, model.highest + 1 + random.next() % jump - min(model.highest, random.next() % 80))
            #expect(window.contains(counter) == model.contains(counter))
            // As many as are new, up to a few or to more than the window holds.
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

    @Test func `counters at the end of 64 bits are counters like any other`() {
        var mark = DeduplicationWindow(watermark: .max - 2)
        #expect(mark.find(.max - 2) == .duplicate(offset: nil))
        #expect(mark.find(.max) == .new)
        mark.append(run(.max, at: 1))
        #expect(mark.find(.max) == .duplicate(offset: 1))
        #expect(mark.find(.max - 1) == .new)
        mark.append(run(.max - 1, at: 2))
        #expect(mark.find(.max - 1) == .duplicate(offset: 2))
        #expect(mark.find(1) == .duplicate(offset: nil))
    }

    @Test func `repetitions are answered with the offset, for as many runs as are remembered`() {
        var mark = DeduplicationWindow()
        for counter in 1...7 as ClosedRange<UInt64> { mark.append(run(counter, at: 100 + counter)) }
        mark.append(run(8, 3, at: 108))
        #expect(mark.find(4) == .duplicate(offset: 104))
        // Every message beginning a run of its own pushes the oldest out.
        for number in 0..<UInt64(DeduplicationWindow.maxRuns) { mark.append(run(20 + number, at: 200 + 2 * number)) }
        #expect(mark.find(4) == .duplicate(offset: nil))
        #expect(mark.find(20) == .duplicate(offset: 200))
    }

    @Test func `what is appended is durable when it is confirmed, and new again when it is taken back`() {
        var mark = DeduplicationWindow()
        mark.append(run(1, 5, at: 1))
        mark.confirm(run(1, 2, at: 1))
        #expect(mark.isDurable(2) && !mark.isDurable(3) && mark.watermark == 2)
        mark.append(run(9, at: 9))
        mark.rollBack(to: 2)
        #expect(mark.find(2) == .duplicate(offset: 2))
        for counter in [3, 5, 9] as [UInt64] { #expect(mark.find(counter) == .new) }
        mark.append(run(3, at: 3))
        #expect(mark.find(3) == .duplicate(offset: 3))
        mark.rollBack(to: 0)
        #expect(mark.find(3) == .new)
    }

    @Test func `a run grows by its next messages only`() {
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
    @Test func `counters that were passed over are too old below the window, and those taken are not`() {
        var mark = DeduplicationWindow()
        for each in [run(1, 3, at: 1), run(1000, at: 4)] {
            mark.append(each)
            mark.confirm(each)
        }
        #expect(mark.find(2) == .duplicate(offset: 2))
        #expect(mark.find(4) == .tooOld)
        #expect(mark.find(936) == .tooOld)
        #expect(mark.find(937) == .new)
        // What is taken within the window stays taken when the window has gone on.
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
    @Test func `what the store has counted is taken, whatever was passed over`() {
        var mark = DeduplicationWindow(watermark: 500)
        #expect(mark.find(7) == .duplicate(offset: nil))
        mark.append(run(700, at: 1))
        mark.confirm(run(700, at: 1))
        #expect(mark.find(500) == .duplicate(offset: nil))
        #expect(mark.find(501) == .tooOld)
    }

    //
    @Test func `a counter far above the highest is refused, but for a device's first`() {
        var mark = DeduplicationWindow()
        #expect(mark.find(.max) == .new)
        mark.append(run(10, at: 1))
        #expect(mark.find(10 + DeduplicationWindow.maxAdvance) == .new)
        #expect(mark.find(11 + DeduplicationWindow.maxAdvance) == .tooFarAhead)
        #expect(mark.find(.max) == .tooFarAhead)
    }

    //
    @Test func `the widest gaps are remembered`() {
        var mark = DeduplicationWindow(watermark: 1)
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
