import Synchronization

/// Hands out the device's message counters: each once, in blocks, so that a room's counters mostly follow one another
/// and what the relay says of them is short (W-60).
final class CounterSource: Sendable {
    /// Counters that a room takes at a time; what it has not used when the client ends is skipped.
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
