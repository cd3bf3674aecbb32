/// A one-shot timer on a loop. Its handler runs in the first turn at or after the deadline.
///
/// A loop keeps an armed timer, and everything that its handler captures, alive.
package final class LoopTimer: @unchecked Sendable {  // All state is accessed on the loop only.
    private let loop: EventLoop
    private let handler: () -> Void

    /// The deadline in nanoseconds of `EventLoop.clock`; nil while the timer is not armed. Must be called on the loop.
    package var deadline: UInt64? { loop.deadline(of: self) }

    /// Creates a timer that is not armed. Must be called on the loop.
    package init(on loop: EventLoop, _ handler: @escaping () -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
    }

    /// Sets, moves or, with nil, clears the deadline, in O(log n). Must be called on the loop.
    ///
    /// A shutdown of the loop clears all deadlines. After it, this method does nothing.
    package func set(deadline: UInt64?) {
        loop.preconditionOnLoop()
        loop.set(deadline, of: self)
    }

    func fire() {
        handler()
    }
}

extension LoopTimer: Hashable {
    /// Timers are compared by identity.
    package static func == (left: LoopTimer, right: LoopTimer) -> Bool { left === right }

    /// Hashes the identity.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
