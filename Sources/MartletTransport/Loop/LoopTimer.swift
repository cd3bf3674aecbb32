/// One deadline on a loop, which calls its handler once, in the first turn at or after it.
///
/// While a deadline is set the loop keeps the timer, with all that its handler captures, alive.
public final class LoopTimer: @unchecked Sendable {  // all state is touched on its loop only
    private let loop: EventLoop
    private let handler: () -> Void
    var heapIndex: Int?

    /// In nanoseconds of `EventLoop.clock`; nil while nothing is set.
    public private(set) var deadline: UInt64?

    /// Must be called on the loop.
    public init(on loop: EventLoop, _ handler: @escaping () -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
    }

    /// Sets, moves or (nil) clears the deadline. Later than before costs nothing, otherwise O(log n).
    /// Does nothing once the loop has been shut down, which clears all deadlines.
    /// Must be called on the loop.
    public func set(deadline: UInt64?) {
        loop.preconditionOnLoop()
        loop.set(deadline, of: self)
    }

    func set(deadline: UInt64?, in heap: inout TimerHeap) {
        self.deadline = deadline
        heap.update(self)
    }

    func disarm() {
        deadline = nil
    }

    func fire() {
        handler()
    }
}
