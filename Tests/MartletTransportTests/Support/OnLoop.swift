import MartletTransport

/// Runs `body` with a loop, which is shut down afterwards.
func withLoop<Value: Sendable>(
    _ backend: EventLoop.Backend, _ body: (EventLoop) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop(backend: backend, name: "test")
    do {
        let value = try await body(loop)
        await loop.shutdown()
        return value
    } catch {
        await loop.shutdown()
        throw error
    }
}

extension EventLoop {
    /// Runs `body` on the loop and returns its result.
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: body()) }
        }
    }

    /// Returns in the first turn in which `condition` holds.
    func turn(when condition: @escaping @Sendable () -> Bool) async {
        while await !run(condition) {}
    }
}
