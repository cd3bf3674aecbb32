/// What is left over in an engine that has nothing under way: credit that was not given back, timers without a cause,
/// objects without an owner.
///
/// An engine is quiescent when everything sent was acknowledged and taken, every request was answered, and both ends
/// are connected. Then each count that traffic raises is back where it began. The simulator asks at the end of a
/// scenario; nothing asks in production.
package struct QuiescenceCheck: Sendable {
    /// What does not hold, one line each.
    package private(set) var faults: [String] = []
    private var place: String

    /// - Parameter place: which part of the engine is looked at, for the lines.
    package init(_ place: String) {
        self.place = place
    }

    /// A count is what it has to be.
    package mutating func equal<Count: Equatable>(_ what: String, _ count: Count, _ expected: Count) {
        if count != expected { faults.append("\(place): \(what) is \(count), not \(expected)") }
    }

    /// A deadline is not set, because nothing is waited for.
    package mutating func unset(_ what: String, _ deadline: Instant?) {
        if let deadline { faults.append("\(place): \(what) is set, to \(deadline.nanoseconds / 1_000_000) ms") }
    }

    /// A collection holds nothing.
    package mutating func empty(_ what: String, count: Int) {
        if count != 0 { faults.append("\(place): \(count) \(what)") }
    }

    /// What a part of this one has found.
    package mutating func add(_ other: QuiescenceCheck) {
        faults += other.faults.map { "\(place), \($0)" }
    }
}
