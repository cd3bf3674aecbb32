import MartletLink

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
        values.isEmpty ? 0 : values[Self.index(of: counter)]
    }

    /// Inserts the digests of a device's messages, in the order of their acceptance. Messages that a store has read
    /// have none, so that theirs are computed.
    mutating func insert(_ entries: ArraySlice<LogEntry>) {
        if values.isEmpty { values = Array(repeating: 0, count: Int(CounterWindow.count)) }
        for index in entries.indices {
            let known = entries[index].digest
            values[Self.index(of: entries[index].counter)] = known == 0 ? entries[index].contentDigest : known
        }
    }

    /// Discards the digests of counters, at most those of one window.
    mutating func remove(_ counters: ClosedRange<UInt64>) {
        guard !values.isEmpty else { return }
        // The range of a first counter can have more elements than `Int` represents, so that `suffix` would trap.
        let distance = min(counters.upperBound - counters.lowerBound, CounterWindow.count - 1)
        for counter in counters.upperBound - distance...counters.upperBound { values[Self.index(of: counter)] = 0 }
    }

    private static func index(of counter: UInt64) -> Int { Int(counter % CounterWindow.count) }
}
