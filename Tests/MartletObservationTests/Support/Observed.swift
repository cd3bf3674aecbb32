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

    init(_ read: @escaping @MainActor @Sendable () -> Void) {
        track(read)
    }

    private func track(_ read: @escaping @MainActor @Sendable () -> Void) {
        withObservationTracking(read) { [weak self] in
            // The change is reported before it is made, on the main actor.
            MainActor.assumeIsolated { self?.value += 1 }
            Task { @MainActor in self?.track(read) }
        }
    }
}
