import CBaselines

/// Measured values by metric.
public typealias Sample = [String: Double]

/// An implementation of a case's work.
public struct Subject {
    /// The name: "martlet" or that of the baseline.
    public let name: String
    /// Does the work and returns its measurements.
    public let trial: () throws -> Sample
    /// Does the work once for an instruction counter and returns the number of operations; nil if unsupported.
    public let once: (() -> Int)?
    /// Whether a trial takes milliseconds and needs a warm-up trial. Trials in processes of their own take seconds and
    /// include a warm-up.
    let isShort: Bool

    /// Creates a subject whose trial measures itself.
    public init(_ name: String, trial: @escaping () throws -> Sample) {
        self.name = name
        self.trial = trial
        once = nil
        isShort = false
    }

    /// Creates a subject whose `body` does `operations` operations and is repeated long enough for the clock.
    ///
    /// Its samples are the nanoseconds ("ns") and allocations of one operation.
    public init(_ name: String, operations: Int, body: @escaping () -> Void) {
        self.name = name
        let loop = TimedLoop(operations: operations, body)
        trial = { loop.trial() }
        isShort = true
        once = {
            body()
            return operations
        }
    }
}

/// The same work by several subjects, with alternating trials.
public struct Case {
    /// The work, as a path: "frames/decode/64 B".
    public let name: String
    /// The unit of operation: "frame", "message".
    public let per: String
    /// The subjects.
    public let subjects: [Subject]

    var hasShortTrials: Bool { subjects.allSatisfy(\.isShort) }

    /// Creates a case of at least one subject.
    public init(_ name: String, per: String, _ subjects: [Subject]) {
        self.name = name
        self.per = per
        self.subjects = subjects
    }
}

/// Repeats a body long enough for the clock.
private final class TimedLoop {
    /// The minimum duration of one sample, in nanoseconds.
    private static let leastNanoseconds: UInt64 = 20_000_000
    private let operations: Int
    private let body: () -> Void
    private var repetitions = 0

    init(operations: Int, _ body: @escaping () -> Void) {
        self.operations = operations
        self.body = body
    }

    func trial() -> Sample {
        if repetitions == 0 { calibrate() }
        let elapsed = time(repetitions)
        measure_allocations_begin()
        body()
        let allocations = measure_allocations_end()
        return [
            "ns": Double(elapsed) / Double(repetitions * operations),
            "allocations": Double(allocations) / Double(operations),
        ]
    }

    private func calibrate() {
        repetitions = 1
        while time(repetitions) < Self.leastNanoseconds { repetitions *= 2 }
    }

    private func time(_ count: Int) -> UInt64 {
        let begin = measure_now()
        for _ in 0..<count { body() }
        return measure_now() - begin
    }
}
