/// The metrics of a client or a relay at an instant.
///
/// Names follow the conventions of Prometheus: base units, the unit as the suffix of the name, and `_total` for the
/// sample of a counter. A counter starts at zero with the process or the object, and never falls.
public struct MetricsSnapshot: Sendable, Equatable {
    /// The metrics in the order of the documentation.
    public private(set) var metrics: [Metric] = []

    /// A snapshot without metrics.
    package init() {}

    /// Returns the number of a metric with these labels; nil if there is none, or for a histogram.
    ///
    /// - Parameter name: The name without the suffix `_total`.
    public subscript(name: String, labels: Metric.Label...) -> Double? {
        guard case .number(let number)? = value(name, labels) else { return nil }
        return number
    }

    /// Returns a histogram with these labels; nil if there is none.
    public func histogram(_ name: String, _ labels: Metric.Label...) -> Histogram? {
        guard case .histogram(let histogram)? = value(name, labels) else { return nil }
        return histogram
    }

    private func value(_ name: String, _ labels: [Metric.Label]) -> Metric.Value? {
        metrics.first { $0.name == name }?.samples.first { $0.labels == labels }?.value
    }

    // MARK: Building

    package mutating func addCounter(_ name: String, _ help: String, _ value: some BinaryInteger) {
        add(name, help, .counter, [Metric.Sample(labels: [], value: .number(Double(value)))])
    }

    /// Adds a counter of a duration, in seconds.
    package mutating func addCounter(_ name: String, _ help: String, _ value: Duration) {
        add(name, help, .counter, [Metric.Sample(labels: [], value: .number(value.inSeconds))])
    }

    package mutating func addGauge(_ name: String, _ help: String, _ value: some BinaryInteger) {
        add(name, help, .gauge, [Metric.Sample(labels: [], value: .number(Double(value)))])
    }

    package mutating func addHistogram(_ name: String, _ help: String, _ histogram: Histogram) {
        add(name, help, .histogram, [Metric.Sample(labels: [], value: .histogram(histogram))])
    }

    /// Adds a counter or a gauge with one label.
    ///
    /// - Parameter samples: The values of the label, in order, with the numbers.
    package mutating func add(
        _ name: String, _ help: String, _ kind: Metric.Kind, by label: String, _ samples: [(String, Double)]
    ) {
        add(
            name, help, kind,
            samples.map { Metric.Sample(labels: [Metric.Label(name: label, value: $0.0)], value: .number($0.1)) })
    }

    /// Adds a metric.
    package mutating func add(_ name: String, _ help: String, _ kind: Metric.Kind, _ samples: [Metric.Sample]) {
        metrics.append(Metric(name: name, help: help, kind: kind, samples: samples))
    }
}

/// A metric with its samples.
public struct Metric: Sendable, Equatable {
    /// The kind of a metric.
    public enum Kind: String, Sendable {
        /// A number that never falls while the process lives.
        case counter
        /// A number that can rise and fall.
        case gauge
        /// The distribution of durations.
        case histogram
    }

    /// A property that distinguishes the samples of a metric.
    public struct Label: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value, from a set that does not grow with the number of users.
        public let value: String

        /// Creates a label.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The value of a sample.
    public enum Value: Sendable, Equatable {
        /// The number of a counter or a gauge.
        case number(Double)
        /// The distribution of durations.
        case histogram(Histogram)
    }

    /// A value with its labels.
    public struct Sample: Sendable, Equatable {
        /// The labels, in the order of the documentation.
        public let labels: [Label]
        /// The value.
        public let value: Value

        package init(labels: [Label], value: Value) {
            self.labels = labels
            self.value = value
        }
    }

    /// The name, for example "martlet_relay_links".
    public let name: String
    /// The meaning, in one sentence.
    public let help: String
    /// The kind.
    public let kind: Kind
    /// The samples, one for each combination of labels.
    public let samples: [Sample]

    /// The unit that the name ends with; nil for a number of objects or events.
    public var unit: String? { ["seconds", "bytes"].first { name.hasSuffix("_\($0)") } }
}

extension Duration {
    /// The number of seconds.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
