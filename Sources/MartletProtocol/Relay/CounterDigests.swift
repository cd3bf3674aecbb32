/// The digests of the messages with the counters of a deduplication window. A digest of 0 is unknown and
/// matches any message.
///
/// A counter is at the index of its remainder, so each counter of a window has an index of its own.
struct CounterDigests: Equatable, Sendable {
    /// The digests by the remainders of their counters; empty if all are unknown.
    private(set) var values: [UInt16] = []

    init() {}

    /// Creates the digests from stored ones. Another number of digests than that of a window counts as unknown.
    init(_ values: [UInt16]) {
        if values.count == Int(CounterWindow.count) { self.values = values }
    }

    subscript(counter: UInt64) -> UInt16 {
        get { values.isEmpty ? 0 : values[Int(counter % CounterWindow.count)] }
        set {
            if values.isEmpty {
                guard newValue != 0 else { return }
                values = Array(repeating: 0, count: Int(CounterWindow.count))
            }
            values[Int(counter % CounterWindow.count)] = newValue
        }
    }

    /// Discards the digests of counters, at most those of one window.
    mutating func remove(_ counters: ClosedRange<UInt64>) {
        guard !values.isEmpty else { return }
        // The range of a first counter can have more elements than `Int` represents, so that `suffix` would trap.
        let distance = min(counters.upperBound - counters.lowerBound, CounterWindow.count - 1)
        for counter in counters.upperBound - distance...counters.upperBound { self[counter] = 0 }
    }
}
