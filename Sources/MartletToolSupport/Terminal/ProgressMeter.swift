/// The progress, rate and remaining time of an operation. The caller supplies the time.
package struct ProgressMeter: Equatable, Sendable {
    private struct Sample: Equatable, Sendable {
        var time: Duration
        var done: Double
    }

    /// The duration over which the rate is computed.
    package static let rateWindow = Duration.seconds(5)
    /// The maximum number of samples in this duration. Samples in between are dropped.
    private static let maxSampleCount = 64

    /// The name of the counted units, in the plural.
    package let unit: String
    /// The completed share, 0 to 1; nil if the total is unknown.
    package private(set) var share: Double?
    /// The number of completed units.
    package private(set) var count = 0
    private var samples: [Sample] = []
    private var shares: [Sample] = []
    private var now = Duration.zero

    /// Creates a meter for `unit` that begins at time zero.
    package init(of unit: String) {
        self.unit = unit
        samples = [Sample(time: .zero, done: 0)]
        shares = samples
    }

    /// Records the completed units and their share of the total at `now`.
    package mutating func update(count: Int, share: Double?, now: Duration) {
        self.count = count
        self.share = share.map { min(max($0, 0), 1) }
        self.now = now
        Self.add(Sample(time: now, done: Double(count)), to: &samples)
        if let share = self.share { Self.add(Sample(time: now, done: share), to: &shares) }
    }

    /// The recent rate in units per second.
    package var rate: Double { Self.slope(samples, now) }

    /// The remaining time at the recent rate; nil if it is unknown.
    package var timeLeft: Duration? {
        guard let share else { return nil }
        let slope = Self.slope(shares, now)
        return slope > 0 ? .seconds((1 - share) / slope) : nil
    }

    /// Returns a line of at most `columns`: a bar if the total is known, the count, the rate, and the remaining or
    /// elapsed time.
    package func line(columns: Int, note: String = "") -> String {
        var parts = ["\(Quantity.grouped(count)) \(unit)", "\(Quantity.grouped(Int(rate.rounded())))/s"]
        if share != nil {
            parts.append(timeLeft.map { "\(Quantity.clock($0 + .milliseconds(500))) left" } ?? "waiting")
        } else {
            parts.append(Quantity.clock(now))
        }
        if !note.isEmpty { parts.append(note) }
        let text = parts.joined(separator: "  ")
        guard let share else { return String(DisplayWidth.prefix(of: text, columns: columns)) }
        let percent = "\(Int(share * 100))%"
        let barWidth = min(columns - DisplayWidth.of(text) - 10, 30)
        guard barWidth >= 5 else { return String(DisplayWidth.prefix(of: "\(percent)  \(text)", columns: columns)) }
        let filled = Int((share * Double(barWidth)).rounded(.down))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: barWidth - filled)
        let padding = String(repeating: " ", count: 4 - percent.count)
        return "[\(bar)] \(padding)\(percent)  \(text)"
    }

    private static func add(_ sample: Sample, to samples: inout [Sample]) {
        if samples.count > 1, let last = samples.last, sample.time - last.time < rateWindow / maxSampleCount {
            samples.removeLast()
        }
        samples.append(sample)
        while samples.count > 2, sample.time - samples[1].time > rateWindow { samples.removeFirst() }
    }

    private static func slope(_ samples: [Sample], _ now: Duration) -> Double {
        guard let first = samples.first, let last = samples.last, now > first.time else { return 0 }
        return max((last.done - first.done) / Quantity.seconds(now - first.time), 0)
    }
}
