/// A check of the state that remains in a quiescent engine: unreleased credit, timers without a cause, objects without
/// an owner.
///
/// An engine is quiescent when all frames were acknowledged and taken, all requests were answered, and both endpoints
/// are connected. Each count that traffic increases then has its initial value. The simulator performs the check at the
/// end of a scenario.
package struct QuiescenceCheck: Sendable {
    /// The deviations, one line each.
    package private(set) var faults: [String] = []
    private var place: String

    /// Creates a check of a part of the engine.
    ///
    /// - Parameter place: The name of the part, for the lines.
    package init(_ place: String) {
        self.place = place
    }

    /// Checks that a count has the expected value.
    package mutating func equal<Count: Equatable>(_ name: String, _ count: Count, _ expected: Count) {
        if count != expected { faults.append("\(place): \(name) is \(count), not \(expected)") }
    }

    /// Checks that a deadline is not set.
    package mutating func unset(_ name: String, _ deadline: Instant?) {
        if let deadline { faults.append("\(place): \(name) is set, to \(deadline.nanoseconds / 1_000_000) ms") }
    }

    /// Checks that a collection is empty.
    package mutating func empty(_ name: String, count: Int) {
        if count != 0 { faults.append("\(place): \(count) \(name)") }
    }

    /// Adds the deviations in a subordinate part.
    package mutating func add(_ other: QuiescenceCheck) {
        faults += other.faults.map { "\(place), \($0)" }
    }
}
