import MartletAuthentication
import MartletHTTP
import MartletMetrics
import MartletRelay

/// The samples of the metrics as server-sent events, with the latest ones for a reader that begins or continues.
///
/// An event is a JSON object:
///
/// | member | value |
/// |---|---|
/// | `t` | the wall clock in milliseconds since 1970 |
/// | `impediments` | the names of what prevents the relay from serving clients fully |
/// | `alerts` | the names of the raised alerts |
/// | `values` | the numbers of counters and gauges, by the name without `martlet_relay_` and the labels |
/// | `quantiles` | of each histogram with values since the last sample, the 50th, 90th and 99th percentile in seconds |
struct SampleEvents {
    /// The maximum number of samples that are kept: those of five minutes.
    static let maxCount = 150

    private var kept: [(id: UInt64, bytes: [UInt8])] = []
    /// The position before the first event.
    private let start: UInt64
    /// The position of the last event.
    private(set) var lastID: UInt64
    /// The histograms of the last sample, by name and labels.
    private var histograms: [String: Histogram] = [:]

    /// Begins behind a position, which is higher than those of an earlier process.
    init(after start: UInt64 = 0) {
        self.start = start
        lastID = start
    }

    /// The position of the next event.
    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Adds a sample. Returns its event.
    mutating func add(
        _ metrics: MetricsSnapshot, _ impediments: [RelayImpediment], _ alerts: [String] = [], at wallClock: UInt64
    ) -> [UInt8] {
        var (values, quantiles): ([String], [String]) = ([], [])
        for metric in metrics.metrics {
            for sample in metric.samples {
                let name = Self.name(of: sample, of: metric)
                switch sample.value {
                case .number(let number): values.append("\(name.quotedAsJSON):\(Self.json(number))")
                case .histogram(let histogram):
                    let recent = histogram.subtracting(histograms[name] ?? Histogram())
                    histograms[name] = histogram
                    guard recent.count > 0 else { continue }
                    let numbers = [0.5, 0.9, 0.99].map { Self.json(recent.quantile($0)?.inSeconds ?? .nan) }
                    quantiles.append("\(name.quotedAsJSON):[\(numbers.joined(separator: ","))]")
                }
            }
        }
        let names = impediments.map(\.rawValue.quotedAsJSON).joined(separator: ",")
        let alerts = alerts.map(\.quotedAsJSON).joined(separator: ",")
        let data =
            "{\"t\":\(wallClock),\"impediments\":[\(names)],\"alerts\":[\(alerts)],"
            + "\"values\":{\(values.joined(separator: ","))},"
            + "\"quantiles\":{\(quantiles.joined(separator: ","))}}"
        let id = nextID()
        let bytes = ServerSentEvent(id: id, type: "sample", data: data).bytes
        kept.append((id, bytes))
        if kept.count > Self.maxCount { kept.removeFirst() }
        return bytes
    }

    /// The position from which a reader continues; nil for one that begins, or has an event of another process.
    func position(_ id: UInt64?) -> UInt64? { id.flatMap { $0 > start && $0 <= lastID ? $0 : nil } }

    /// The kept events after a position, with their positions; all of them for nil.
    func events(after id: UInt64?) -> [(id: UInt64, bytes: [UInt8])] { kept.filter { $0.id > id ?? 0 } }

    private static func name(of sample: Metric.Sample, of metric: Metric) -> String {
        let prefix = "martlet_relay_"
        let name = metric.name.hasPrefix(prefix) ? String(metric.name.dropFirst(prefix.count)) : metric.name
        guard !sample.labels.isEmpty else { return name }
        return "\(name){\(sample.labels.map { "\($0.name)=\($0.value)" }.joined(separator: ","))}"
    }

    private static func json(_ number: Double) -> String {
        guard number.isFinite else { return "null" }
        return Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }
}
