/// Reduces a failing scenario to a minimal one by delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
/// Failure-Inducing Input", 2002).
package struct Shrinker {
    /// The maximum number of runs.
    package static let maxRunCount = 2000

    /// The number of runs so far.
    package private(set) var runCount = 0
    private let fails: (Scenario) -> Bool

    /// Creates a shrinker.
    ///
    /// - Parameter fails: Whether a scenario violates the same invariant.
    package init(while fails: @escaping (Scenario) -> Bool) {
        self.fails = fails
    }

    /// The shortest failing scenario found, until the task is cancelled.
    package mutating func shrink(_ scenario: Scenario) -> Scenario {
        var scenario = scenario
        var size = max(1, scenario.steps.count / 2)
        while runCount < Shrinker.maxRunCount, !Task.isCancelled {
            let before = scenario.steps.count
            var start = 0
            while start < scenario.steps.count, runCount < Shrinker.maxRunCount, !Task.isCancelled {
                var candidate = scenario
                candidate.steps.removeSubrange(start..<min(start + size, scenario.steps.count))
                runCount += 1
                if fails(candidate) { scenario = candidate } else { start += size }
            }
            if size > 1 {
                size /= 2
            } else if scenario.steps.count == before {
                break
            }
        }
        return scenario
    }
}
