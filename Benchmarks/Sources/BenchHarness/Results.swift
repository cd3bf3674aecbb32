import Foundation

/// All samples of one subject and one metric, in the order of the rounds.
public struct Series: Codable, Sendable {
    /// The subject.
    public var subject: String
    /// What was measured.
    public var metric: String
    /// One of each round.
    public var samples: [Double]

    /// Samples in the order of the rounds.
    public init(subject: String, metric: String, samples: [Double]) {
        self.subject = subject
        self.metric = metric
        self.samples = samples
    }
}

/// What came of one case.
public struct CaseResult: Codable, Sendable {
    /// The case's name.
    public var name: String
    /// What one operation is.
    public var per: String
    /// By subject and metric.
    public var series: [Series]

    /// What came of a case.
    public init(name: String, per: String, series: [Series]) {
        self.name = name
        self.per = per
        self.series = series
    }

    /// The samples of a subject and metric; nil when there are none.
    public func samples(of subject: String, _ metric: String) -> [Double]? {
        series.first { $0.subject == subject && $0.metric == metric }?.samples
    }
}

/// What came of a run.
public struct RunResult: Codable, Sendable {
    /// When it began, in ISO 8601.
    public var date: String
    /// The machine, in words.
    public var machine: String
    /// In the order in which they ran.
    public var cases: [CaseResult] = []

    /// Nothing yet.
    public init() {
        date = Date().formatted(.iso8601)
        machine = Self.machineText()
    }

    /// The case of that name.
    public subscript(name: String) -> CaseResult? {
        cases.first { $0.name == name }
    }

    /// Reads what `write(to:)` wrote.
    public init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(RunResult.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// Writes JSON.
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
