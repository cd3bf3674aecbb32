import MartletWire

/// The accepted messages of a device in a room: a watermark and a small window, instead of a table of IDs (W-62, R-16).
///
/// The counters of a device ascend and a session delivers them in order, so nearly every counter is above the
/// watermark. The window below it admits overtaken counters. The runs contain the offsets of the latest messages, so
/// that a repetition is answered with the same offset. The gaps contain skipped counters, so that these do not count as
/// accepted. Messages that are not durable can be rolled back.
///
/// | counter | answer |
/// |---|---|
/// | above the watermark by more than `maxAdvance`, of a device that has a watermark | tooFarAhead |
/// | above the watermark, or in the window and not seen | new |
/// | appended and not durable yet, or durable | duplicate |
/// | below the window and in a gap | tooOld |
struct DeduplicationWindow: Equatable, Sendable {
    /// The maximum number of runs of accepted messages with known offsets.
    static let maxRuns = 32
    /// The maximum number of ranges of skipped counters; the widest ones are kept.
    static let maxGaps = 16
    /// The maximum difference of a counter and its device's highest one.
    static let maxAdvance: UInt64 = 1 << 32

    enum OnCounter: Equatable {
        case new
        /// Accepted before; the offset is nil when it is no longer known.
        case duplicate(offset: UInt64?)
        /// Skipped before, and below the window.
        case tooOld
        /// So high that all later messages of the device would be too old.
        case tooFarAhead
    }

    private var appended: CounterWindow
    private var durable: CounterWindow
    private var runs = Deque<AcceptedRun>()
    /// Ranges without the counter of a durable message, ascending.
    private var gaps: [ClosedRange<UInt64>] = []

    init(watermark: UInt64 = 0) {
        appended = CounterWindow(watermark: watermark)
        durable = appended
    }

    /// The highest counter accepted; 0 when there is none.
    var watermark: UInt64 { durable.watermark }

    func find(_ counter: UInt64) -> OnCounter {
        guard !DeduplicationWindow.isTooFar(counter, above: appended.watermark) else { return .tooFarAhead }
        guard appended.contains(counter) else { return .new }
        if let offset = offset(of: counter) { return .duplicate(offset: offset) }
        return gaps.contains { $0.contains(counter) } ? .tooOld : .duplicate(offset: nil)
    }

    /// Whether a counter exceeds a device's highest one by more than the maximum. The first counter may be any.
    @inline(__always)
    static func isTooFar(_ counter: UInt64, above watermark: UInt64) -> Bool {
        watermark > 0 && counter > watermark && counter - watermark > maxAdvance
    }

    /// Whether the message is durable.
    func isDurable(_ counter: UInt64) -> Bool {
        durable.contains(counter)
    }

    /// The highest counter with an offset, durable or not.
    var lastAppended: UInt64 { appended.watermark }

    /// Messages have received their offsets, but are not durable.
    mutating func append(_ run: AcceptedRun) {
        appended.insert(run.counters)
        let last = runs.count - 1
        if last >= 0, let longer = runs[last].extended(by: run) {
            runs[last] = longer
            return
        }
        runs.append(run)
        if runs.count > DeduplicationWindow.maxRuns { _ = runs.popFirst() }
    }

    /// The messages are durable.
    mutating func confirm(_ run: AcceptedRun) {
        let watermark = durable.watermark
        durable.insert(run.counters)
        if run.firstCounter <= watermark {
            fill(run.counters)
        } else if run.firstCounter - watermark > 1 {
            note(gap: watermark + 1...run.firstCounter - 1)
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
    }

    /// Removes the messages beyond `offset`, because the store has failed.
    mutating func rollBack(to offset: UInt64) {
        appended = durable
        while let last = runs.last, last.offsets.upperBound > offset {
            _ = runs.popLast()
            guard last.firstOffset <= offset else { continue }
            let kept = UInt32(offset - last.firstOffset + 1)
            runs.append(AcceptedRun(firstCounter: last.firstCounter, count: kept, firstOffset: last.firstOffset))
        }
    }

    private func offset(of counter: UInt64) -> UInt64? {
        for run in runs {
            if let offset = run.offset(of: counter) { return offset }
        }
        return nil
    }
}

/// The accepted counters of one device: all up to a watermark, except those missing in the window below it.
struct CounterWindow: Equatable, Sendable {
    /// Counters below the watermark in the window; older ones count as seen.
    static let count: UInt64 = 64

    private(set) var watermark: UInt64
    /// Bit n is set when `watermark - n` was seen.
    private var seen: UInt64 = .max

    init(watermark: UInt64) {
        self.watermark = watermark
    }

    func contains(_ counter: UInt64) -> Bool {
        guard counter <= watermark else { return false }
        let distance = watermark - counter
        return distance >= CounterWindow.count || seen & (1 << distance) != 0
    }

    /// Inserts consecutive counters.
    mutating func insert(_ counters: ClosedRange<UInt64>) {
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
