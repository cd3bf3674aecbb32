/// The accepted counters of one device: all up to a watermark, except those missing in the window below it.
package struct CounterWindow: Equatable, Sendable {
    /// Counters below the watermark in the window; older ones count as seen.
    package static let count: UInt64 = 64

    package private(set) var watermark: UInt64
    /// Bit n is set when `watermark - n` was seen.
    package private(set) var seen: UInt64

    package init(watermark: UInt64, seen: UInt64 = .max) {
        self.watermark = watermark
        self.seen = seen
    }

    package func contains(_ counter: UInt64) -> Bool {
        guard counter <= watermark else { return false }
        let distance = watermark - counter
        return distance >= CounterWindow.count || seen & (1 << distance) != 0
    }

    /// Inserts consecutive counters.
    package mutating func insert(_ counters: ClosedRange<UInt64>) {
        // One bit for each counter; surplus bits are shifted out.
        let bits = ~((UInt64.max << (counters.upperBound - counters.lowerBound)) << 1)
        if counters.upperBound > watermark {
            seen = seen << (counters.upperBound - watermark) | bits
            watermark = counters.upperBound
        } else {
            seen |= bits << (watermark - counters.upperBound)
        }
    }
}
