/// The result of one asynchronous call. It is resolved once, by the first call of `resolve`, and awaited once.
package final class Promise<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case resolved(Result<Value, any Error>)
        case over
    }

    private let state = Guarded(State.open)

    package init() {}

    /// Resolves the promise; false if it was resolved before.
    @discardableResult
    package func resolve(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
            switch state {
            case .open:
                state = .resolved(result)
                return (true, nil)
            case .awaited(let continuation):
                state = .over
                return (true, continuation)
            case .resolved, .over:
                return (false, nil)
            }
        }
        waiting?.resume(with: result)
        return isFirst
    }

    /// Waits for the result. `onCancel` is called if the task is cancelled before that; it may resolve the promise.
    nonisolated(nonsending) package func value(onCancel: @escaping @Sendable () -> Void) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<Value, any Error>? in
                    guard case .resolved(let outcome) = state else {
                        state = .awaited(continuation)
                        return nil
                    }
                    state = .over
                    return outcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            onCancel()
        }
    }

    /// Waits for the result, regardless of cancellation. The caller ensures that the promise is resolved soon.
    nonisolated(nonsending) package func value() async throws -> Value {
        try await value(onCancel: {})
    }
}
