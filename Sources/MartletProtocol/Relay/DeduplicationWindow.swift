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
    private var durable: DeviceRecord
    private var runs = Deque<AcceptedRun>()

    init(_ record: DeviceRecord = DeviceRecord()) {
        appended = record.counters
        durable = record
    }

    /// The highest counter accepted; 0 when there is none.
    var watermark: UInt64 { durable.watermark }

    func find(_ counter: UInt64) -> OnCounter {
        guard !DeduplicationWindow.isTooFar(counter, above: appended.watermark) else { return .tooFarAhead }
        guard appended.contains(counter) else { return .new }
        if let offset = offset(of: counter) { return .duplicate(offset: offset) }
        return durable.isInGap(counter) ? .tooOld : .duplicate(offset: nil)
    }

    /// Whether a counter exceeds a device's highest one by more than the maximum. The first counter may be any.
    @inline(__always)
    static func isTooFar(_ counter: UInt64, above watermark: UInt64) -> Bool {
        watermark > 0 && counter > watermark && counter - watermark > maxAdvance
    }

    /// Whether the message is durable.
    func isDurable(_ counter: UInt64) -> Bool {
        durable.counters.contains(counter)
    }

    /// Whether all messages with an offset are durable.
    var isSettled: Bool { appended == durable.counters }

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
        durable.insert(run.counters)
    }

    /// Removes the messages beyond `offset`, because the store has failed.
    mutating func rollBack(to offset: UInt64) {
        appended = durable.counters
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
    private(set) var seen: UInt64

    init(watermark: UInt64, seen: UInt64 = .max) {
        self.watermark = watermark
        self.seen = seen
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
