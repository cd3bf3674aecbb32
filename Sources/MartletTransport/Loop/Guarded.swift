import CMartletSystem
import Synchronization

/// State behind a `Mutex`, in words that the thread sanitizer understands: it does not see the one in the standard
/// library, and would call everything that it guards a race.
final class Guarded<State: Sendable>: Sendable {
    private let mutex: Mutex<State>

    init(_ state: State) {
        mutex = Mutex(state)
    }

    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in
            let address = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
            unsafe martlet_sanitizer_acquire(address)
            defer { unsafe martlet_sanitizer_release(address) }
            return body(&state)
        }
    }
}
