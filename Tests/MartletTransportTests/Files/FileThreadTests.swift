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

    @Test func `a call has returned → the thread retains nothing that it used`() async throws {
        final class Resource: Sendable {}
        func use(_ thread: FileThread) async throws -> () -> Resource? {
            let resource = Resource()
            try await thread.perform { _ = resource }
            return { [weak resource] in resource }
        }
        let thread = FileThread(named: "test")
        for _ in 0..<1000 {
            let resource = try await use(thread)
            #expect(resource() == nil)
        }
    }
}
