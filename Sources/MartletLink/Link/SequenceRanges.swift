/// Sequences received behind a gap, as ascending, disjoint ranges that are not adjacent.
struct SequenceRanges: Equatable, Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    var isEmpty: Bool { ranges.isEmpty }

    /// Adds a sequence that no range contains; it is not `UInt64.max`.
    mutating func insert(_ sequence: UInt64) {
        var low = 0
        var high = ranges.count
        // Most frames arrive in order, so the last range usually grows.
        if let last = ranges.last, last.lowerBound < sequence { low = high }
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].lowerBound < sequence { low = middle + 1 } else { high = middle }
        }
        let joinsBefore = low > 0 && ranges[low - 1].upperBound + 1 == sequence
        let joinsAfter = low < ranges.count && ranges[low].lowerBound == sequence + 1
        switch (joinsBefore, joinsAfter) {
        case (true, true):
            ranges[low - 1] = ranges[low - 1].lowerBound...ranges[low].upperBound
            ranges.remove(at: low)
        case (true, false): ranges[low - 1] = ranges[low - 1].lowerBound...sequence
        case (false, true): ranges[low] = sequence...ranges[low].upperBound
        case (false, false): ranges.insert(sequence...sequence, at: low)
        }
    }

    /// Removes all ranges below `sequence`, which no range contains.
    mutating func removeAll(below sequence: UInt64) {
        ranges.removeFirst(ranges.prefix { $0.upperBound < sequence }.count)
    }
}
