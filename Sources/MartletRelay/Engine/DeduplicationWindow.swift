import MartletLink
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
/// | appended and not durable yet, or durable | duplicate, or reused if the window has another digest |
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
        /// Accepted before with another content: the device has been set back.
        case reused
        /// Skipped before, and below the window.
        case tooOld
        /// So high that all later messages of the device would be too old.
        case tooFarAhead
    }

    private var appended: CounterWindow
    private var durable: DeviceRecord
    private var runs = Deque<AcceptedRun>()
    /// The digests of the counters that were appended, durable or not.
    private var digests: CounterDigests

    init(_ record: DeviceRecord = DeviceRecord()) {
        appended = record.counters
        durable = record
        digests = record.counterDigests
    }

    /// The highest counter accepted; 0 when there is none.
    var watermark: UInt64 { durable.watermark }

    /// - Parameter digest: The digest of the message; 0 if it is unknown.
    func find(_ counter: UInt64, digest: UInt16 = 0) -> OnCounter {
        guard !DeduplicationWindow.isTooFar(counter, above: appended.watermark) else { return .tooFarAhead }
        guard appended.contains(counter) else { return .new }
        if isReused(counter, digest) { return .reused }
        if let offset = offset(of: counter) { return .duplicate(offset: offset) }
        return durable.isInGap(counter) ? .tooOld : .duplicate(offset: nil)
    }

    /// Whether the window has the digest of another message with a counter that was taken.
    private func isReused(_ counter: UInt64, _ digest: UInt16) -> Bool {
        guard digest != 0, appended.watermark - counter < CounterWindow.count else { return false }
        let known = digests[counter]
        return known != 0 && known != digest
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
    mutating func append(_ entries: ArraySlice<LogEntry>) {
        var rest = entries
        while let run = AcceptedRun(takenFrom: &rest) { append(run) }
        digests.insert(entries)
    }

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
        // An index belongs to an earlier counter again, whose digest is not known any more.
        if appended.watermark > durable.watermark { digests.remove(durable.watermark + 1...appended.watermark) }
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
