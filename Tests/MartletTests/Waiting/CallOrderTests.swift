import Synchronization
import Testing

@testable import Martlet

@Suite("The order of calls", .timeLimit(.minutes(10)))
struct CallOrderTests {
    private let order = CallOrder<String>()
    private let log = Lines()

    /// A call that waits for its turn and notes its name.
    private func call(_ turn: CallOrder<String>.Turn, _ name: String) -> Task<Void, any Error> {
        Task {
            defer { turn.end() }
            try await turn.begin()
            log.note(name)
        }
    }

    @Test func `turns that begin in the reverse order → performed in the order of entry`() async throws {
        let turns = (0..<100).map { _ in order.enter("a") }
        let calls = turns.enumerated().reversed().map { call($1, "\($0)") }
        for call in calls { try await call.value }
        #expect(log.all == (0..<100).map(String.init))
    }

    // C-107
    @Test func `10,000 calls of 100 tasks → those of each task in their order`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<100 {
                group.addTask {
                    let calls = (0..<100).map { call(order.enter("a"), "\(task) \($0)") }
                    for call in calls { try await call.value }
                }
            }
            try await group.waitForAll()
        }
        let lines = Dictionary(grouping: log.all.map { $0.split(separator: " ") }, by: { $0[0] })
        #expect(lines.count == 100)
        for calls in lines.values { #expect(calls.map { Int($0[1]) } == (0..<100).map { $0 }) }
    }

    @Test func `a turn of another key → does not wait`() async throws {
        let first = order.enter("a")
        try await call(order.enter("b"), "b").value
        first.end()
        try await call(order.enter("a"), "a").value
        #expect(log.all == ["b", "a"])
    }

    @Test func `a waiting turn is cancelled → it throws, and the others continue`() async throws {
        let first = order.enter("a")
        let (second, third) = (call(order.enter("a"), "2"), call(order.enter("a"), "3"))
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(log.all.isEmpty)
        first.end()
        try await third.value
        #expect(log.all == ["3"])
    }

    @Test func `turns that end early or twice, or are released → the next one begins`() async throws {
        let first = order.enter("a")
        let second = order.enter("a")
        _ = order.enter("a")
        let fourth = order.enter("a")
        second.end()
        first.end()
        first.end()
        try await call(fourth, "4").value
        // A turn that has ended does not end a later one of the same key.
        let fifth = order.enter("a")
        first.end()
        let sixth = call(order.enter("a"), "6")
        try await fifth.begin()
        #expect(log.all == ["4"])
        fifth.end()
        try await sixth.value
    }
}

/// Lines in the order in which tasks have noted them.
private final class Lines: Sendable {
    private let state = Mutex<[String]>([])

    var all: [String] { state.withLock { $0 } }

    func note(_ line: String) { state.withLock { $0.append(line) } }
}
