import CMartletSystem

/// The check that a caller runs on the loop: a thread-local variable names the thread's current loop.
extension EventLoop {
    /// Whether the caller runs in a turn of this loop.
    package var isOnLoop: Bool {
        unsafe martlet_current_loop() == UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    }

    /// The loop in whose turn the caller runs; nil outside of a turn.
    package static var current: EventLoop? {
        guard let current = unsafe martlet_current_loop() else { return nil }
        return unsafe Unmanaged<EventLoop>.fromOpaque(current).takeUnretainedValue()
    }

    /// Traps unless the caller runs on this loop. The check costs the load of a thread-local variable.
    package func preconditionOnLoop(_ function: StaticString = #function) {
        precondition(isOnLoop, "\(function) must be called on the loop \(name)")
    }

    /// Implements `assumeIsolated` for actors on this loop.
    public func checkIsolated() {
        preconditionOnLoop()
    }

    /// The answer of `checkIsolated()` without a trap.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    public func isIsolatingCurrentContext() -> Bool? {
        isOnLoop
    }

    func becomeCurrent() {
        unsafe martlet_set_current_loop(UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    }

    func resignCurrent() {
        martlet_set_current_loop(nil)
    }
}
