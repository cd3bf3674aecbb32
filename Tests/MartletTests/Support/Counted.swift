import Synchronization

/// A counter that any task can increment.
final class Counted: Sendable {
    private let atomic = Atomic(0)

    var value: Int { atomic.load(ordering: .acquiring) }

    @discardableResult
    func count() -> Int { atomic.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue }
}
