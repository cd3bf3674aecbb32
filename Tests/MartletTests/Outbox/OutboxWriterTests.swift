import MartletLink
import MartletRelay
import MartletWire
import Testing

@testable import Martlet

@Suite("The queue of an outbox", .timeLimit(.minutes(10)))
struct OutboxWriterTests {
    private func withRoom(_ body: (Room, GroupingTestOutbox) async throws -> Void) async throws {
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        let outbox = GroupingTestOutbox()
        let client = try Client(
            to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox, configuration: configuration)
        try await withClient(client) { client in
            let room = try await client.open(room: "lobby", options: Room.Options(waitsForRelay: false))
            try await body(room, outbox)
        }
    }

    /// Waits until an operation has joined.
    private func joined(_ call: GroupingTestOutbox.Call, _ index: Int) async -> OutboxTransaction {
        while true {
            if let part = call.part(index) { return part }
            await Task.yield()
        }
    }

    private func texts(_ transaction: OutboxTransaction?) -> [String?] {
        transaction?.appended.map(\.content.text) ?? []
    }

    // C-74
    @Test func `a message that is sent while another message is stored → joins the transaction, and both sends return`()
        async throws
    {
        try await withRoom { room, outbox in
            async let first = room.send("1")
            let call = try #require(await outbox.next())
            #expect(texts(call.part(0)) == ["1"])
            #expect(call.part(1) == nil)
            async let second = room.send("2")
            #expect(texts(await joined(call, 1)) == ["2"])
            // The outbox may request the same operations again.
            #expect(texts(call.part(0)) == ["1"] && texts(call.part(1)) == ["2"] && call.part(2) == nil)
            call.complete(nil)
            let counters = try await (first.counter, second.counter)
            #expect(counters.0 < counters.1)
            async let third = room.send("3")
            let next = try #require(await outbox.next())
            #expect(texts(next.part(0)) == ["3"])
            next.complete(nil)
            _ = try await third
        }
    }

    // C-78
    @Test func `a transaction that is refused → its messages are stored alone, except those that are refused`()
        async throws
    {
        try await withRoom { room, outbox in
            async let first = room.send("1")
            let call = try #require(await outbox.next())
            #expect(texts(call.part(0)) == ["1"])
            let second = Task { try await room.send("refused") }
            #expect(texts(await joined(call, 1)) == ["refused"])
            call.complete(MartletError.outboxFull(limit: .messages(0)))
            _ = try await first
            await #expect(throws: MartletError.outboxFull(limit: .messages(0))) { try await second.value }
            #expect(outbox.committed.flatMap(\.appended).map(\.content.text) == ["1"])
        }
    }

    // C-74
    @Test func `concurrent sends into several rooms → the counters of each room are stored in order`() async throws {
        try await withRoom { room, outbox in
            let stores = Task {
                var appended: [OutboxEntry] = []
                while appended.count < 300, let call = await outbox.next() {
                    var index = 0
                    while let part = call.part(index) {
                        appended += part.appended
                        index += 1
                    }
                    call.complete(nil)
                }
                return appended
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<300 { group.addTask { try await room.send("\(number)") } }
                try await group.waitForAll()
            }
            let counters = await stores.value.map(\.id.counter)
            #expect(counters == counters.sorted() && counters.count == 300)
        }
    }

    @Test func `a message that the outbox refuses → the observers of its state receive the failure`() async throws {
        try await withRoom { room, outbox in
            let sending = Task { try await room.send("refused") }
            let call = try #require(await outbox.next())
            let handle = try #require(room.pending.first)
            let observing = Task { try await handle.accepted() }
            await until { room.core.state.withLock { $0.waiters.observers.count } == 1 }
            #expect(texts(call.part(0)) == ["refused"])
            call.complete(MartletError.outboxFull(limit: .messages(0)))
            await #expect(throws: MartletError.outboxFull(limit: .messages(0))) { try await sending.value }
            await #expect(throws: MartletError.notAccepted(.closed)) { try await observing.value }
        }
    }

    @Test(
        arguments: [
            (.closed, .closed), (.closedByRelay(.roomForbidden), .refused(.roomForbidden, reason: nil)),
        ] as [(RoomCore.End, SendFailure)])
    func `a room that ends while the outbox stores a message → its failure is stored after it`(
        end: RoomCore.End, failure: SendFailure
    ) async throws {
        try await withRoom { room, outbox in
            let sending = Task { try await room.send("1") }
            let call = try #require(await outbox.next())
            let id = try #require(call.part(0)?.appended.first?.id)
            room.core.finish(end)
            call.complete(nil)
            #expect(try await sending.value.id == id)
            let later = try #require(await outbox.next())
            #expect(later.part(0)?.outcomes == [OutboxOutcome(id: id, room: "lobby", result: .failed(failure))])
            later.complete(nil)
        }
    }

    // C-78
    @Test func `a message that is cancelled while its transaction is refused → not sent by a later client`()
        async throws
    {
        try await withRoom { room, outbox in
            let sending = Task { try await room.send("1") }
            let call = try #require(await outbox.next())
            #expect(texts(call.part(0)) == ["1"])
            let refused = Task { try await room.send("refused") }
            #expect(texts(await joined(call, 1)) == ["refused"])
            #expect(await room.pending.first?.cancel() == true)
            #expect(await joined(call, 2).outcomes.count == 1)
            call.complete(MartletError.outboxFull(limit: .messages(0)))
            await #expect(throws: MartletError.outboxFull(limit: .messages(0))) { try await refused.value }
            _ = try await sending.value
            let later = try #require(await outbox.next())
            #expect(later.part(0)?.outcomes.map(\.result) == [.failed(.cancelled)])
            later.complete(nil)
        }
    }
}
