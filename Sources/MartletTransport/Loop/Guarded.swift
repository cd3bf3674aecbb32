import CMartletSystem
import Synchronization

/// A `Mutex` with annotations for the thread sanitizer. The sanitizer does not recognize the mutex of the standard
/// library and would report false races.
///
/// A state that is a function has to be in a structure: each generic access would wrap the function once more.
package struct Guarded<State>: ~Copyable, Sendable {
    private let mutex: Mutex<State>

    package init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let address = unsafe withUnsafePointer(to: mutex) { unsafe UnsafeRawPointer($0) }
        return try mutex.withLock { state throws(Failure) in
            unsafe martlet_sanitizer_acquire(address)
            defer { unsafe martlet_sanitizer_release(address) }
            return try body(&state)
        }
    }
}
