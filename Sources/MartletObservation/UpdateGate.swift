/// Combines the updates of a model. Updates are published one at a time and at most 60 times a second, and the last
/// state is always published.
///
/// | state | an update | left by |
/// |---|---|---|
/// | idle | performs a pass, after the interval since the last one | a call, to active |
/// | active | waits; the first waiting call performs the next pass for all | the end of a pass without waiting calls |
///
/// A call returns after a pass that began after the call. The number of waiting calls is bounded by the number of
/// sources of the model and of commands of its views. A call of a cancelled task performs no pass.
@MainActor
final class UpdateGate {
    /// The minimum duration between the starts of two passes.
    nonisolated static let minInterval = Duration.seconds(1) / 60

    private let clock: any ModelClock
    private var isActive = false
    private var nextPass: Duration?
    /// The waiting calls. A call is resumed with true after a pass that included it, and with false to perform the next
    /// pass.
    private var waiting: [CheckedContinuation<Bool, Never>] = []

    init(_ clock: any ModelClock) {
        self.clock = clock
    }

    /// Performs a pass, or waits for one.
    func update(_ pass: () async -> Void) async {
        if isActive, await withCheckedContinuation({ waiting.append($0) }) { return }
        isActive = true
        if let nextPass, nextPass > clock.now { try? await clock.wait(until: nextPass) }
        if !Task.isCancelled {
            nextPass = clock.now + Self.minInterval
            let served = waiting
            waiting = []
            await pass()
            for call in served { call.resume(returning: true) }
        }
        if waiting.isEmpty { isActive = false } else { waiting.removeFirst().resume(returning: false) }
    }
}
