import Testing

@testable import MartletTransport

@Suite struct FileThreadTests {
    @Test func `jobs are performed in order and their results returned`() async throws {
        let thread = FileThread(named: "test")
        let order = Guarded<[Int]>([])
        for number in 0..<100 { thread.execute { order.withLock { $0.append(number) } } }
        let result = try await thread.perform { order.withLock { $0.count } }
        #expect(result == 100)
        #expect(order.withLock { $0 } == Array(0..<100))
        await #expect(throws: CancellationError.self) { try await thread.perform { throw CancellationError() } }
    }
}
