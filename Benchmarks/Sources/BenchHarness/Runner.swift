import Foundation

/// Runs cases: a warm-up of each subject without one of its own, then rounds with one trial of every subject.
public struct Runner {
    /// Rounds of a case in this process for each round of other cases. Its trials take milliseconds, so disturbances by
    /// other processes weigh more.
    public static let roundsOfShortTrials = 5

    /// Rounds of a case that runs processes.
    public var rounds: Int
    /// Whether each sample is reported on standard error.
    public var isVerbose: Bool

    /// Creates a runner.
    public init(rounds: Int, isVerbose: Bool) {
        self.rounds = rounds
        self.isVerbose = isVerbose
    }

    /// Runs one case. An error of a subject is reported and ends that subject only.
    public func run(_ item: Case) -> CaseResult {
        var result = CaseResult(name: item.name, per: item.per, series: [])
        var failed: Set<String> = []
        for round in 0...(item.hasShortTrials ? rounds * Self.roundsOfShortTrials : rounds) {
            // The order alternates, so that no subject always follows the same one.
            let order = round % 2 == 0 ? item.subjects : item.subjects.reversed()
            for subject in order where !failed.contains(subject.name) && (round > 0 || subject.isShort) {
                do {
                    let sample = try subject.trial()
                    if isVerbose { tell(item, subject, round, sample) }
                    if round > 0 { result.add(sample, of: subject.name) }
                } catch {
                    failed.insert(subject.name)
                    report("\(item.name), \(subject.name): \(error)")
                }
            }
        }
        result.order(item.subjects.map(\.name))
        return result
    }

    private func tell(_ item: Case, _ subject: Subject, _ round: Int, _ sample: Sample) {
        let numbers = sample.sorted { $0.key < $1.key }.map { "\($0.key) \(Figure.text($0.value))" }
        report("  \(item.name) \(subject.name) #\(round): \(numbers.joined(separator: ", "))")
    }
}

extension CaseResult {
    /// Sorts the series by the order of the subjects.
    mutating func order(_ subjects: [String]) {
        let place = { (name: String) in subjects.firstIndex(of: name) ?? 0 }
        series.sort { (place($0.subject), $0.metric) < (place($1.subject), $1.metric) }
    }

    /// Adds a sample of one round.
    public mutating func add(_ sample: Sample, of subject: String) {
        for (metric, value) in sample {
            if let index = series.firstIndex(where: { $0.subject == subject && $0.metric == metric }) {
                series[index].samples.append(value)
            } else {
                series.append(Series(subject: subject, metric: metric, samples: [value]))
            }
        }
    }
}

/// Writes a line to standard error.
public func report(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
