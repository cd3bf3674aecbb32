/// The clock of the models, which tests replace.
package protocol ModelClock: Sendable {
    /// The time since an arbitrary instant.
    var now: Duration { get }

    /// Waits until a time.
    ///
    /// - Throws: `CancellationError`.
    func wait(until time: Duration) async throws
}

/// The clock of the system.
struct ContinuousModelClock: ModelClock {
    private let start = ContinuousClock.now

    var now: Duration { start.duration(to: .now) }

    func wait(until time: Duration) async throws {
        try await ContinuousClock().sleep(until: start + time)
    }
}
