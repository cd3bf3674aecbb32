import Martlet
import MartletTimeline
import MartletWire
import Synchronization
import Testing

@testable import MartletObservation

@Suite("Model of the list of conversations", .timeLimit(.minutes(10)))
@MainActor
struct ConversationListModelTests {
    /// A source whose contents the test sets.
    private final class Source: ConversationSource {
        struct Broken: Error {}

        private let state = Mutex<[RoomName: ConversationSummary]?>([:])
        let changes: AsyncStream<Set<RoomName>>
        private let change: AsyncStream<Set<RoomName>>.Continuation
        let singleReads = Mutex(0)

        init() {
            (changes, change) = AsyncStream.makeStream(of: Set<RoomName>.self)
        }

        func set(_ name: RoomName, time: UInt64, unread: Int = 0) {
            let last = ConversationSummary.LastEntry(sender: nil, time: time, content: .message(.text("\(time)")))
            state.withLock {
                $0?[name] = ConversationSummary(name: name, lastEntry: last, unreadCount: unread)
            }
            change.yield([name])
        }

        func setBroken(_ isBroken: Bool) {
            state.withLock { $0 = isBroken ? nil : [:] }
            change.yield(["a"])
        }

        func conversations() async throws -> [ConversationSummary] {
            guard let all = state.withLock({ $0 }) else { throw Broken() }
            return Array(all.values)
        }

        func conversation(_ name: RoomName) async throws -> ConversationSummary? {
            singleReads.withLock { $0 += 1 }
            guard let all = state.withLock({ $0 }) else { throw Broken() }
            return all[name]
        }
    }

    @Test func `changed conversations → the latest first, in the same rows, without other reads`() async throws {
        try await ModelScript.run { script in
            let source = Source()
            for (name, time) in [("a", 1), ("b", 3), ("c", 2)] as [(RoomName, UInt64)] { source.set(name, time: time) }
            let model = ConversationListModel(source, clock: script.clock)
            try await script.with(model.run) {
                await observed { model.rows.map(\.id) == ["b", "c", "a"] }
                let (b, a) = (model.rows[0], model.rows[2])
                let others = ChangeCount { _ = b.value }
                source.set("a", time: 9, unread: 4)
                await observed { model.rows.map(\.id) == ["a", "b", "c"] && model.unreadCount == 4 }
                #expect(model.rows[0] === a && others.value == 0)
                let order = ChangeCount { _ = model.rows }
                source.set("a", time: 10, unread: 5)
                await observed { model.rows[0].value.unreadCount == 5 }
                #expect(order.value == 0)
            }
        }
    }

    @Test func `a source that fails → its error, until it is read again`() async throws {
        try await ModelScript.run { script in
            let source = Source()
            source.setBroken(true)
            let model = ConversationListModel(source, clock: script.clock)
            try await script.with(model.run) {
                await observed { model.failure == .other("Broken()") }
                source.setBroken(false)
                source.set("a", time: 1)
                await observed { model.failure == nil && model.rows.map(\.id) == ["a"] }
            }
        }
    }

    @Test func `the rooms of a timeline → their last entries and unread counts`() async throws {
        try await ModelScript.run { script in
            try await script.timeline.apply([script.text(1, "old")], in: "a")
            let model = ConversationListModel(script.timeline, clock: script.clock)
            try await script.with(model.run) {
                await observed { model.rows.map(\.id) == ["a"] && model.unreadCount == 1 }
                try await script.timeline.apply([script.text(2, "new")], in: "b")
                await observed { model.rows.map(\.id) == ["b", "a"] }
                #expect(model.rows[0].value.lastEntry?.content == .message(.text("new")))
                #expect(model.rows[0].value.lastEntry?.sender == AccountName("bob"))
            }
        }
    }
}
