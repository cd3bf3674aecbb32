extension MetricsSnapshot {
    /// A text format for collectors of metrics.
    public enum TextFormat: Sendable, CaseIterable {
        /// OpenMetrics 1.0.
        case openMetrics
        /// The text format 0.0.4 of Prometheus.
        case prometheus

        /// The media type of HTTP.
        public var mediaType: String {
            switch self {
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            }
        }
    }

    /// The binary logarithms of the buckets' bounds in microseconds: 64 µs to 134 s.
    private static let powers = 6...27

    /// Returns the metrics as a text.
    ///
    /// A histogram has a bucket for each power of two from 64 µs to 134 s, and its longest duration as a gauge.
    public func text(_ format: TextFormat) -> String {
        var text = ""
        for metric in metrics {
            // Prometheus describes the sample of a counter, OpenMetrics the metric.
            let isSuffixed = metric.kind == .counter && format == .prometheus
            Self.describe(
                isSuffixed ? metric.name + "_total" : metric.name, metric.help, metric.kind.rawValue, metric.unit,
                format, to: &text)
            for sample in metric.samples { Self.write(sample, of: metric, to: &text) }
            if metric.kind == .histogram { Self.writeMaxima(of: metric, format, to: &text) }
        }
        if format == .openMetrics { text += "# EOF\n" }
        return text
    }

    private static func describe(
        _ name: String, _ help: String, _ kind: String, _ unit: String?, _ format: TextFormat, to text: inout String
    ) {
        text += "# HELP \(name) \(escaped(help, quotes: format == .openMetrics))\n# TYPE \(name) \(kind)\n"
        if format == .openMetrics, let unit { text += "# UNIT \(name) \(unit)\n" }
    }

    private static func write(_ sample: Metric.Sample, of metric: Metric, to text: inout String) {
        switch sample.value {
        case .number(let number):
            let suffix = metric.kind == .counter ? "_total" : ""
            text += "\(metric.name)\(suffix)\(labels(sample.labels)) \(Self.text(of: number))\n"
        case .histogram(let histogram):
            for power in powers {
                let bound = Self.text(of: Double(1 << power) / 1_000_000)
                let labels = labels(sample.labels, bound: bound)
                text += "\(metric.name)_bucket\(labels) \(histogram.count(belowPower: power))\n"
            }
            text += "\(metric.name)_bucket\(labels(sample.labels, bound: "+Inf")) \(histogram.count)\n"
            text += "\(metric.name)_sum\(labels(sample.labels)) \(Self.text(of: histogram.sum.inSeconds))\n"
            text += "\(metric.name)_count\(labels(sample.labels)) \(histogram.count)\n"
        }
    }

    /// The name "x_seconds" of a histogram has the gauge "x_max_seconds".
    private static func writeMaxima(of metric: Metric, _ format: TextFormat, to text: inout String) {
        let unit = metric.unit.map { "_\($0)" } ?? ""
        let name = "\(metric.name.dropLast(unit.count))_max\(unit)"
        describe(name, "Maximum of \(metric.name).", "gauge", metric.unit, format, to: &text)
        for sample in metric.samples {
            guard case .histogram(let histogram) = sample.value else { continue }
            text += "\(name)\(labels(sample.labels)) \(Self.text(of: histogram.max.inSeconds))\n"
        }
    }

    private static func labels(_ labels: [Metric.Label], bound: String? = nil) -> String {
        var parts = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
        if let bound { parts.append("le=\"\(bound)\"") }
        return parts.isEmpty ? "" : "{\(parts.joined(separator: ","))}"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The shortest text of a number, without an exponent for integers.
    private static func text(of number: Double) -> String {
        Int64(exactly: number).map { "\($0)" } ?? (number.isNaN ? "NaN" : "\(number)")
    }
}
