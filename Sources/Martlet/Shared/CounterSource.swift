import Synchronization

/// The source of the device's message counters. It issues each counter once, in blocks: consecutive counters in a room
/// make the relay's `accepted` frames short (W-60).
final class CounterSource: Sendable {
    /// The number of counters in a block. The unused counters of a block are skipped when the client ends.
    static let blockLength: UInt64 = 64

    private let next: Atomic<UInt64>

    init(first: UInt64) {
        next = Atomic(max(first, 1))
    }

    func takeBlock() -> Range<UInt64> {
        let end = next.wrappingAdd(Self.blockLength, ordering: .relaxed).newValue
        return (end - Self.blockLength)..<end
    }
}

/// The counters of one room's messages.
struct RoomCounters: Sendable {
    private let source: CounterSource
    private var block: Range<UInt64> = 0..<0

    init(_ source: CounterSource) {
        self.source = source
    }

    mutating func next() -> UInt64 {
        if block.isEmpty { block = source.takeBlock() }
        defer { block = (block.lowerBound + 1)..<block.upperBound }
        return block.lowerBound
    }
}
