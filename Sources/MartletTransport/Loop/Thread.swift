import CMartletSystem

private final class ThreadBody {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Runs `body` on a new detached thread. Returns the error if the thread cannot be created.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) -> TransportError? {
    let context = unsafe Unmanaged.passRetained(ThreadBody(run: body))
    let result = unsafe martlet_thread_start(
        name,
        { context in
            unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
        }, context.toOpaque())
    guard result < 0 else { return nil }
    unsafe context.release()
    return TransportError(errno: -result, call: "pthread_create")
}

/// Suspends the calling thread for some microseconds.
package func pauseThread(microseconds: UInt32) {
    martlet_thread_pause(microseconds)
}
