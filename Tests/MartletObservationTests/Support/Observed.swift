import Observation

/// Returns when a condition on observable properties is true.
@MainActor
func observed(_ condition: @MainActor () -> Bool) async {
    while true {
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        let isTrue = withObservationTracking(condition) { change.finish() }
        if isTrue { return }
        for await _ in changes {}
    }
}

/// Counts the changes of what a closure reads.
@MainActor
final class ChangeCount {
    private(set) var value = 0
    private let read: @MainActor @Sendable () -> Void

    init(_ read: @escaping @MainActor @Sendable () -> Void) {
        self.read = read
        track()
    }

    /// The closure of the observation is kept by what it observes, so that it must not retain `read`.
    private func track() {
        withObservationTracking(read) { [weak self] in
            // The change is reported before it is made, on the main actor.
            MainActor.assumeIsolated { self?.value += 1 }
            Task { @MainActor in self?.track() }
        }
    }
}
