/// How far something has come, how fast it goes and how long it will take; time comes in from outside.
package struct ProgressMeter: Equatable, Sendable {
    private struct Sample: Equatable, Sendable {
        var time: Duration
        var done: Double
    }

    /// The rate is that of the last so much time.
    package static let rateWindow = Duration.seconds(5)
    private static let maxSampleCount = 64

    /// What is counted, in the plural.
    package let unit: String
    /// How much of the whole is done, 0 to 1; `nil` when the whole is not known.
    package private(set) var share: Double?
    /// How many units are done.
    package private(set) var count = 0
    private var samples: [Sample] = []
    private var shares: [Sample] = []
    private var now = Duration.zero

    /// A meter that counts `unit` from time zero on.
    package init(of unit: String) {
        self.unit = unit
        samples = [Sample(time: .zero, done: 0)]
        shares = samples
    }

    /// So many units are done at `now`, which is `share` of the whole.
    package mutating func update(count: Int, share: Double?, now: Duration) {
        self.count = count
        self.share = share.map { min(max($0, 0), 1) }
        self.now = now
        Self.add(Sample(time: now, done: Double(count)), to: &samples)
        if let share = self.share { Self.add(Sample(time: now, done: share), to: &shares) }
    }

    /// Units per second, lately.
    package var rate: Double { Self.slope(samples, now) }

    /// The time for the rest at the latest rate; `nil` where it is not known.
    package var timeLeft: Duration? {
        guard let share else { return nil }
        let slope = Self.slope(shares, now)
        return slope > 0 ? .seconds((1 - share) / slope) : nil
    }

    /// One line of at most `columns`: a bar when the whole is known, the count, the rate, the time left or gone.
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
