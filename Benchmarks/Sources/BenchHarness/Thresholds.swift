import Foundation

/// One bar: a figure of a case, alone or as a ratio to another's, and what it must not pass.
public struct Threshold: Codable, Sendable {
    /// The case.
    public var what: String
    /// The metric.
    public var metric: String
    /// The subject whose figure it is; "martlet" when it is not said.
    public var of: String?
    /// The subject that it is divided by; without one the figure itself is compared.
    public var to: String?
    /// The case in which that other figure is; the same case when it is not said.
    public var toWhat: String?
    /// The figure must be this or less.
    public var atMost: Double?
    /// The figure must be this or more.
    public var atLeast: Double?
}

/// What came of a bar.
public struct Verdict: Sendable {
    /// The bar.
    public let threshold: Threshold
    /// The figure; nil when there is none because the subject failed.
    public let value: Double?
    /// The lowest and the highest of the rounds.
    public let range: ClosedRange<Double>?
    /// Whether the bar is met.
    public let isMet: Bool
}

/// The bars that are checked in.
public struct Thresholds: Codable, Sendable {
    /// In the order in which they are told.
    public var thresholds: [Threshold]

    /// Reads the file.
    public init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(Thresholds.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// The verdicts on what was measured; bars of cases that did not run, and on what was not measured,
    /// are passed over.
    public func verdicts(on run: RunResult) -> [Verdict] {
        thresholds.compactMap { Self.verdict(on: run, $0) }
    }

    private static func verdict(on run: RunResult, _ threshold: Threshold) -> Verdict? {
        guard let item = run[threshold.what], item.series.isEmpty || item.metrics.contains(threshold.metric) else {
            return nil
        }
        let missing = Verdict(threshold: threshold, value: nil, range: nil, isMet: false)
        guard let samples = item.samples(of: threshold.of ?? "martlet", threshold.metric) else { return missing }
        let value: Double
        let range: ClosedRange<Double>
        if let to = threshold.to {
            guard let other = run[threshold.toWhat ?? threshold.what] else { return nil }
            guard let others = other.samples(of: to, threshold.metric), let ratio = Ratio(samples, to: others) else {
                return missing
            }
            value = ratio.value
            range = ratio.lowest...ratio.highest
        } else {
            let statistics = Statistics(samples)
            value = statistics.median
            range = statistics.sorted[0]...statistics.sorted[statistics.sorted.count - 1]
        }
        let isMet = threshold.atMost.map { value <= $0 } ?? true && threshold.atLeast.map { value >= $0 } ?? true
        return Verdict(threshold: threshold, value: value, range: range, isMet: isMet)
    }
}
