/// Sequences as ascending, disjoint ranges that do not touch: what has arrived beyond a gap.
struct SequenceRanges: Equatable, Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    var isEmpty: Bool { ranges.isEmpty }

    /// Adds a sequence that is not in yet and is not the highest of all.
    mutating func insert(_ sequence: UInt64) {
        var low = 0
        var high = ranges.count
        // Frames mostly arrive in order, so the last range is mostly the one that grows.
        if let last = ranges.last, last.lowerBound < sequence { low = high }
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].lowerBound < sequence { low = middle + 1 } else { high = middle }
        }
        let touchesBefore = low > 0 && ranges[low - 1].upperBound + 1 == sequence
        let touchesAfter = low < ranges.count && ranges[low].lowerBound == sequence + 1
        switch (touchesBefore, touchesAfter) {
        case (true, true):
            ranges[low - 1] = ranges[low - 1].lowerBound...ranges[low].upperBound
            ranges.remove(at: low)
        case (true, false): ranges[low - 1] = ranges[low - 1].lowerBound...sequence
        case (false, true): ranges[low] = sequence...ranges[low].upperBound
        case (false, false): ranges.insert(sequence...sequence, at: low)
        }
    }

    /// Forgets all that is below `sequence`, which lies in no range.
    mutating func removeAll(below sequence: UInt64) {
        ranges.removeFirst(ranges.prefix { $0.upperBound < sequence }.count)
    }
}
