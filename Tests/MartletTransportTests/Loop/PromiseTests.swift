import Testing

@testable import MartletTransport

@Suite("Promise", .timeLimit(.minutes(10)))
struct PromiseTests {
    @Test func `the first of two results counts, before and during the wait`() async throws {
        let early = Promise<Int>()
        #expect(early.resolve(.success(1)))
        #expect(!early.resolve(.success(2)))
        #expect(try await early.value() == 1)
        let late = Promise<Int>()
        let task = Task { try await late.value() }
        #expect(late.resolve(.success(3)))
        #expect(try await task.value == 3)
        #expect(!late.resolve(.success(4)))
    }

    @Test func `a cancellation before the result runs the handler, a cancellation after it returns the result`()
        async throws
    {
        let promise = Promise<Int>()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await promise.value { promise.resolve(.failure(CancellationError())) }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let resolved = Promise<Int>()
        resolved.resolve(.success(1))
        let other = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await resolved.value { resolved.resolve(.failure(CancellationError())) }
        }
        other.cancel()
        #expect(try await other.value == 1)
    }
}
