import Foundation

/// The samples of one subject and metric, in the order of the rounds.
public struct Series: Codable, Sendable {
    /// The subject.
    public var subject: String
    /// The metric.
    public var metric: String
    /// One sample for each round.
    public var samples: [Double]

    /// Creates a series.
    public init(subject: String, metric: String, samples: [Double]) {
        self.subject = subject
        self.metric = metric
        self.samples = samples
    }
}

/// The result of one case.
public struct CaseResult: Codable, Sendable {
    /// The case's name.
    public var name: String
    /// The unit of operation.
    public var per: String
    /// The series by subject and metric.
    public var series: [Series]

    /// Creates a result.
    public init(name: String, per: String, series: [Series]) {
        self.name = name
        self.per = per
        self.series = series
    }

    /// The samples of a subject and metric; nil if there are none.
    public func samples(of subject: String, _ metric: String) -> [Double]? {
        series.first { $0.subject == subject && $0.metric == metric }?.samples
    }
}

/// The result of a run.
public struct RunResult: Codable, Sendable {
    /// The start of the run, in ISO 8601.
    public var date: String
    /// A description of the machine.
    public var machine: String
    /// The results in the order of the cases.
    public var cases: [CaseResult] = []

    /// Creates an empty result.
    public init() {
        date = Date().formatted(.iso8601)
        machine = Self.machineText()
    }

    /// The case of that name.
    public subscript(name: String) -> CaseResult? {
        cases.first { $0.name == name }
    }

    /// Reads a file written by `write(to:)`.
    public init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(RunResult.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// Writes the result as JSON.
    public func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(self).write(to: URL(filePath: path))
    }

    private static func machineText() -> String {
        let info = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)
        let model = info?.split(separator: "\n").first { $0.hasPrefix("model name") }
            .flatMap { $0.split(separator: ":").last }
        let name = model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
        return "\(name), \(ProcessInfo.processInfo.activeProcessorCount) cores"
    }
}
