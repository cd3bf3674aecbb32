import Foundation

/// A limit for a value of a case, for its ratio to a different value, or for its difference from one.
public struct Threshold: Codable, Sendable {
    /// The case.
    public var what: String
    /// The metric.
    public var metric: String
    /// The subject; "martlet" by default.
    public var of: String?
    /// The subject of the divisor; without one the value itself is compared.
    public var to: String?
    /// The subject of the subtrahend, in place of a divisor.
    public var above: String?
    /// The case of the divisor; the same case by default.
    public var toWhat: String?
    /// The maximum value.
    public var atMost: Double?
    /// The minimum value.
    public var atLeast: Double?
}

/// The result of a threshold.
public struct Verdict: Sendable {
    /// The threshold.
    public let threshold: Threshold
    /// The value; nil if the subject failed.
    public let value: Double?
    /// The lowest and highest value of the rounds.
    public let range: ClosedRange<Double>?
    /// Whether the threshold is met.
    public let isMet: Bool
}

/// The thresholds in the repository.
public struct Thresholds: Codable, Sendable {
    /// The thresholds in the order of the report.
    public var thresholds: [Threshold]

    /// Reads the file.
    public init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(Thresholds.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// The verdicts on a run. Thresholds of cases and values that were not measured are omitted.
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
        } else if let above = threshold.above {
            guard let others = item.samples(of: above, threshold.metric), !others.isEmpty else { return missing }
            let differences = zip(samples, others).map { $0 - $1 }
            value = Statistics(samples).median - Statistics(others).median
            range = (differences.min() ?? value)...(differences.max() ?? value)
        } else {
            let statistics = Statistics(samples)
            value = statistics.median
            range = statistics.sorted[0]...statistics.sorted[statistics.sorted.count - 1]
        }
        let isMet = threshold.atMost.map { value <= $0 } ?? true && threshold.atLeast.map { value >= $0 } ?? true
        return Verdict(threshold: threshold, value: value, range: range, isMet: isMet)
    }
}
