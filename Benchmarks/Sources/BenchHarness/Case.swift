import CBaselines

/// What is measured: one number for each name.
public typealias Sample = [String: Double]

/// One of those that do the same work.
public struct Subject {
    /// Who it is: "martlet" or the baseline's name.
    public let name: String
    /// Does the work and says what it took.
    public let trial: () throws -> Sample
    /// Does the work once, for a counter of instructions; nil where that makes no sense. Answers how many operations
    /// that were.
    public let once: (() -> Int)?
    /// Whether a trial takes milliseconds and is tried once before it counts; one in processes of its own takes seconds
    /// and warms up there.
    let isShort: Bool

    /// A subject whose trial measures itself.
    public init(_ name: String, trial: @escaping () throws -> Sample) {
        self.name = name
        self.trial = trial
        once = nil
        isShort = false
    }

    /// A subject that is called until it has taken a while; `body` does `operations` operations.
    ///
    /// Its samples are nanoseconds ("ns") and allocations of one operation.
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

/// The same work by several subjects, which are taken turn about.
public struct Case {
    /// What is done, as a path: "frames/decode/64 B".
    public let name: String
    /// What one operation is: "frame", "message".
    public let per: String
    /// Who does it.
    public let subjects: [Subject]

    var hasShortTrials: Bool { subjects.allSatisfy(\.isShort) }

    /// A case of at least one subject.
    public init(_ name: String, per: String, _ subjects: [Subject]) {
        self.name = name
        self.per = per
        self.subjects = subjects
    }
}

/// Repeats a body often enough for the clock.
private final class TimedLoop {
    /// How long the repetitions of one sample take together, at least, in nanoseconds.
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
