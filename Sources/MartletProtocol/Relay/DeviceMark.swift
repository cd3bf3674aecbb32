import MartletWire

/// Which of a device's messages a room has accepted: a watermark and a small window, not a table of IDs (W-62, R-16).
///
/// A device numbers its messages upwards and a session delivers them in order, so nearly every counter is above the
/// watermark. The window below it admits what was overtaken, and the runs remember at which offsets the latest were
/// accepted, so that a repetition is answered with the same offset. The gaps remember what was passed over, so that it
/// is not taken for accepted. What is appended but not yet durable can be taken back.
///
/// | counter | answer |
/// |---|---|
/// | above the watermark by more than `maxAdvance`, of a device that has a watermark | tooFarAhead |
/// | above the watermark, or in the window and not seen | new |
/// | appended and not durable yet, or durable | duplicate |
/// | below the window and in a gap | tooOld |
struct DeviceMark: Equatable, Sendable {
    /// Runs of accepted messages whose offsets are remembered.
    static let maxRuns = 32
    /// Ranges of counters that were passed over and are remembered, the widest there were.
    static let maxGaps = 16
    /// How far a counter may lie above its device's highest one.
    static let maxAdvance: UInt64 = 1 << 32

    enum OnCounter: Equatable {
        case new
        /// Taken before; the offset where it is still known.
        case duplicate(offset: UInt64?)
        /// Not taken before, and below what can be told apart after the room has been loaded again.
        case tooOld
        /// It would make all that its device says later old.
        case tooFarAhead
    }

    private var appended: CounterWindow
    private var durable: CounterWindow
    private var runs = Deque<AcceptedRun>()
    /// Ranges that no durable message has a counter in, ascending.
    private var gaps: [ClosedRange<UInt64>] = []

    init(watermark: UInt64 = 0) {
        appended = CounterWindow(watermark: watermark)
        durable = appended
    }

    /// The highest counter accepted; 0 when there is none.
    var watermark: UInt64 { durable.watermark }

    func look(up counter: UInt64) -> OnCounter {
        guard !DeviceMark.isTooFar(counter, above: appended.watermark) else { return .tooFarAhead }
        guard appended.contains(counter) else { return .new }
        if let offset = offset(of: counter) { return .duplicate(offset: offset) }
        return gaps.contains { $0.contains(counter) } ? .tooOld : .duplicate(offset: nil)
    }

    /// Whether a counter is further above a device's highest than any honest one; a device's first may be any.
    @inline(__always)
    static func isTooFar(_ counter: UInt64, above watermark: UInt64) -> Bool {
        watermark > 0 && counter > watermark && counter - watermark > maxAdvance
    }

    /// Whether the message is durable, and not only on its way there.
    func isDurable(_ counter: UInt64) -> Bool {
        durable.contains(counter)
    }

    /// The highest counter that has an offset, be it durable or not.
    var lastAppended: UInt64 { appended.watermark }

    /// Records messages that have their offsets but are not durable yet.
    mutating func append(_ run: AcceptedRun) {
        appended.insert(run.counters)
        let last = runs.count - 1
        if last >= 0, let longer = runs[last].extended(by: run) {
            runs[last] = longer
            return
        }
        runs.append(run)
        if runs.count > DeviceMark.maxRuns { _ = runs.popFirst() }
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
        guard gaps.count > DeviceMark.maxGaps else { return }
        // A device that speaks in many rooms leaves narrow ones behind, and goes back into none.
        let narrowest = gaps.indices.min {
            gaps[$0].upperBound - gaps[$0].lowerBound < gaps[$1].upperBound - gaps[$1].lowerBound
        }
        if let narrowest { gaps.remove(at: narrowest) }
    }

    /// Counters that were overtaken are there after all.
    private mutating func fill(_ counters: ClosedRange<UInt64>) {
        gaps = gaps.flatMap { gap -> [ClosedRange<UInt64>] in
            guard gap.overlaps(counters) else { return [gap] }
            var parts: [ClosedRange<UInt64>] = []
            if gap.lowerBound < counters.lowerBound { parts.append(gap.lowerBound...counters.lowerBound - 1) }
            if gap.upperBound > counters.upperBound { parts.append(counters.upperBound + 1...gap.upperBound) }
            return parts
        }
    }

    /// Forgets what was appended beyond `offset`, because the store did not take it.
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

/// The counters seen of one device: all up to a watermark, but for those missing in the window below it.
struct CounterWindow: Equatable, Sendable {
    /// Counters below the watermark that are told apart; older ones count as seen.
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

    /// Counters that follow one another.
    mutating func insert(_ counters: ClosedRange<UInt64>) {
        // One bit for each, shifted out where they are too many.
        let bits = ~((UInt64.max << (counters.upperBound - counters.lowerBound)) << 1)
        if counters.upperBound > watermark {
            seen = seen << (counters.upperBound - watermark) | bits
            watermark = counters.upperBound
        } else {
            seen |= bits << (watermark - counters.upperBound)
        }
    }
}
