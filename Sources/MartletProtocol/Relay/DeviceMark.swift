import MartletWire

/// Which of a device's messages a room has accepted: a watermark and a small window, not a table of IDs (W-62, R-16).
///
/// A device numbers its messages upwards and a session delivers them in order, so nearly every counter is above the
/// watermark. The window below it admits what was overtaken, and the runs remember at which offsets the latest were
/// accepted, so that a repetition is answered with the same offset. What is appended but not yet durable can be taken
/// back.
struct DeviceMark: Equatable, Sendable {
    /// Runs of accepted messages whose offsets are remembered.
    static let maxRuns = 32

    enum OnCounter: Equatable {
        case new
        /// Accepted before; the offset where it is still known.
        case duplicate(offset: UInt64?)
    }

    private var appended: CounterWindow
    private var durable: CounterWindow
    private var runs = Deque<AcceptedRun>()

    init(watermark: UInt64 = 0) {
        appended = CounterWindow(watermark: watermark)
        durable = appended
    }

    /// The highest counter accepted; 0 when there is none.
    var watermark: UInt64 { durable.watermark }

    func look(up counter: UInt64) -> OnCounter {
        appended.contains(counter) ? .duplicate(offset: offset(of: counter)) : .new
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
        durable.insert(run.counters)
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

    mutating func pass(_ packer: inout Packer) {
        appended.pass(&packer)
        durable.pass(&packer)
        packer.pass(&runs, AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)) {
            var (counter, count, offset) = ($1.firstCounter, $1.count, $1.firstOffset)
            $0.pass(&counter)
            $0.pass(&count)
            $0.pass(&offset)
            $1 = AcceptedRun(firstCounter: counter, count: count, firstOffset: offset)
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

    mutating func pass(_ packer: inout Packer) {
        packer.pass(&watermark)
        // Mostly all of them.
        var missing = ~seen
        packer.pass(&missing)
        seen = ~missing
    }
}
