/// The tables at the end of a run.
public enum Tables {
    /// All values with their spread.
    public static func results(_ run: RunResult) -> String {
        var table = TextTable(["case", "subject", "metric", "median", "spread", "to the first"])
        for item in run.cases {
            let subjects = item.subjects
            for metric in item.metrics {
                let first = item.samples(of: subjects[0], metric)
                for subject in subjects {
                    guard let samples = item.samples(of: subject, metric) else { continue }
                    let statistics = Statistics(samples)
                    var ratio = ""
                    if subject != subjects[0], let first, let other = Ratio(first, to: samples) {
                        ratio = "\(Figure.text(other.value)) ×"
                    }
                    table.add([
                        item.name, subject, "\(metric)\(Metric.unit(metric, per: item.per))",
                        Figure.text(statistics.median), Figure.percent(statistics.spread), ratio,
                    ])
                }
            }
        }
        return table.text
    }

    /// All measured thresholds.
    public static func verdicts(_ verdicts: [Verdict]) -> String {
        var table = TextTable(["bar", "metric", "to", "wanted", "is", "rounds", ""])
        for verdict in verdicts {
            let threshold = verdict.threshold
            let wanted =
                threshold.atMost.map { "≤ \(Figure.text($0))" } ?? threshold.atLeast.map { "≥ \(Figure.text($0))" }
                ?? ""
            let times = threshold.to != nil ? " ×" : threshold.above != nil ? " more" : ""
            table.add([
                threshold.what, threshold.metric, threshold.to ?? threshold.above ?? "", wanted + times,
                verdict.value.map { Figure.text($0) + times } ?? "failed",
                verdict.range.map { "\(Figure.text($0.lowerBound))…\(Figure.text($0.upperBound))" } ?? "",
                verdict.isMet ? "ok" : "MISS",
            ])
        }
        return table.text
    }

    /// Two runs side by side.
    public static func comparison(_ old: RunResult, _ new: RunResult) -> String {
        var table = TextTable(["case", "subject", "metric", "before", "after", "after / before"])
        for item in new.cases {
            for series in item.series.sorted(by: { ($0.metric, $0.subject) < ($1.metric, $1.subject) }) {
                guard let before = old[item.name]?.samples(of: series.subject, series.metric) else { continue }
                let ratio = Ratio(series.samples, to: before)
                table.add([
                    item.name, series.subject, series.metric, Figure.text(Statistics(before).median),
                    Figure.text(Statistics(series.samples).median), ratio.map { "\(Figure.text($0.value)) ×" } ?? "",
                ])
            }
        }
        return table.text
    }
}

extension CaseResult {
    /// The subjects in the order of addition.
    public var subjects: [String] { unique(series.map(\.subject)) }

    /// The metrics by name.
    public var metrics: [String] { Set(series.map(\.metric)).sorted() }

    private func unique(_ names: [String]) -> [String] {
        names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// The metrics by name.
public enum Metric {
    /// The unit of a metric.
    public static func unit(_ metric: String, per: String) -> String {
        switch metric {
        case "ns", "allocations", "instructions", "bytes": " / \(per)"
        case "perSecond": per == "delivery" ? " (deliveries)" : " (\(per)s)"
        case "p50", "p99", "p999": " µs"
        case "serverMicroseconds": " / message"
        default: ""
        }
    }

    /// Whether lower values are better.
    public static func isCost(_ metric: String) -> Bool {
        metric != "perSecond"
    }
}
