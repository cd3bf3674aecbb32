import BenchHarness
import Foundation

/// Waits for an asynchronous call on another thread.
func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let box = Box<Value>()
    let semaphore = DispatchSemaphore(value: 0)
    Task {
        do { unsafe box.result = .success(try await body()) } catch { unsafe box.result = .failure(error) }
        semaphore.signal()
    }
    semaphore.wait()
    guard let result = unsafe box.result else { throw Options.Failure(description: "no result") }
    return try result.get()
}

// The semaphore orders the accesses.
private final class Box<Value>: @unchecked Sendable {
    nonisolated(unsafe) var result: Result<Value, any Error>?
}

/// The resident bytes of this process.
func residentByteCount() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (pages ?? 0) * 4096
}
