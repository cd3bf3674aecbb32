import MartletWire
import Testing

@testable import MartletLink

@Suite struct SequenceRangesTests {
    @Test func `ranges grow at both ends and join`() {
        var ranges = SequenceRanges()
        for sequence in [5, 6, 9, 8, 3, 7, 12] as [UInt64] { ranges.insert(sequence) }
        #expect(ranges.ranges == [3...3, 5...9, 12...12])
        ranges.insert(4)
        #expect(ranges.ranges == [3...9, 12...12])
        ranges.removeAll(below: 10)
        #expect(ranges.ranges == [12...12])
        ranges.removeAll(below: 5)
        #expect(ranges.ranges == [12...12] && !ranges.isEmpty)
        ranges.removeAll(below: 13)
        #expect(ranges.isEmpty)
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `sequences inserted in any order give the ranges of exactly these sequences`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var ranges = SequenceRanges()
        var inserted: Set<UInt64> = []
        for _ in 0..<200 {
            let sequence = 10 + random.next() % 150
            guard inserted.insert(sequence).inserted else { continue }
            ranges.insert(sequence)
            #expect(ranges.ranges.flatMap { Array($0) } == inserted.sorted())
            #expect(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
        }
    }
}
