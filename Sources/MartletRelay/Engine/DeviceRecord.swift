public import MartletLink
import MartletWire

/// The durable part of a device's deduplication window in a room: a store keeps it and changes it in the
/// transaction that stores the messages.
public struct DeviceRecord: Equatable, Sendable {
    /// The duration for which a record is kept after its device last published, in milliseconds of the relay's wall
    /// clock: seven days, in which a client may publish a message again.
    public static let lifetime: UInt64 = 7 * 24 * 3600 * 1000  // bound

    /// The number of digests of a record, one for each counter of the window.
    public static let digestCount = Int(CounterWindow.count)  // bound

    private var window: CounterWindow
    /// Ranges without the counter of a durable message, ascending; the widest `DeduplicationWindow.maxGaps`.
    public private(set) var gaps: [ClosedRange<UInt64>]
    /// The digests of the counters in the window.
    private(set) var counterDigests: CounterDigests
    /// The time at which the device last published, in milliseconds since 1970.
    public var usedAt: UInt64

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - watermark: The highest counter taken; 0 when there is none.
    ///   - seen: Bit n is set when the counter `watermark - n` was taken.
    ///   - gaps: Ranges of skipped counters.
    ///   - digests: The digests of the 64 counters up to the watermark, each at the remainder of its counter by 64; 0
    ///     if it is unknown. Another number of them counts as unknown.
    ///   - usedAt: The time at which the device last published, in milliseconds since 1970.
    public init(
        watermark: UInt64 = 0, seen: UInt64 = .max, gaps: [ClosedRange<UInt64>] = [], digests: [UInt16] = [],
        usedAt: UInt64 = 0
    ) {
        window = CounterWindow(watermark: watermark, seen: seen)
        self.gaps = Array(gaps.prefix(DeduplicationWindow.maxGaps))
        counterDigests = CounterDigests(digests)
        self.usedAt = usedAt
    }

    /// The highest counter taken; 0 when there is none.
    public var watermark: UInt64 { window.watermark }
    /// Bit n is set when the counter `watermark - n` was taken.
    public var seen: UInt64 { window.seen }

    /// The digests of the 64 counters up to the watermark, each at the remainder of its counter by 64; empty if all are
    /// unknown, otherwise 0 if one is unknown.
    public var digests: [UInt16] { counterDigests.values }

    /// The counters without the gaps.
    var counters: CounterWindow { window }

    /// Whether a counter is at most the watermark, and neither missing in the window nor in a gap.
    package func contains(_ counter: UInt64) -> Bool {
        window.contains(counter) && !isInGap(counter)
    }

    func isInGap(_ counter: UInt64) -> Bool {
        gaps.contains { $0.contains(counter) }
    }

    /// Inserts the counters of durable messages of the device.
    public mutating func insert(countersOf entries: ArraySlice<LogEntry>) {
        var rest = entries
        while let run = AcceptedRun(takenFrom: &rest) { insert(run.counters) }
        for entry in entries { usedAt = max(usedAt, entry.acceptedAt) }
        counterDigests.insert(entries)
    }

    /// Inserts consecutive counters of durable messages.
    mutating func insert(_ counters: ClosedRange<UInt64>) {
        let watermark = window.watermark
        window.insert(counters)
        if counters.lowerBound <= watermark {
            fill(counters)
        } else if counters.lowerBound - watermark > 1 {
            note(gap: watermark + 1...counters.lowerBound - 1)
        }
    }

    private mutating func note(gap: ClosedRange<UInt64>) {
        gaps.append(gap)
        guard gaps.count > DeduplicationWindow.maxGaps else { return }
        // A device that publishes in many rooms leaves narrow gaps and fills none of them.
        let narrowest = gaps.indices.min {
            gaps[$0].upperBound - gaps[$0].lowerBound < gaps[$1].upperBound - gaps[$1].lowerBound
        }
        if let narrowest { gaps.remove(at: narrowest) }
    }

    /// Overtaken counters were accepted.
    private mutating func fill(_ counters: ClosedRange<UInt64>) {
        gaps = gaps.flatMap { gap -> [ClosedRange<UInt64>] in
            guard gap.overlaps(counters) else { return [gap] }
            var parts: [ClosedRange<UInt64>] = []
            if gap.lowerBound < counters.lowerBound { parts.append(gap.lowerBound...counters.lowerBound - 1) }
            if gap.upperBound > counters.upperBound { parts.append(counters.upperBound + 1...gap.upperBound) }
            return parts
        }
        // A gap that was divided can exceed the maximum.
        if gaps.count > DeduplicationWindow.maxGaps { gaps.removeLast(gaps.count - DeduplicationWindow.maxGaps) }
    }
}
