import Martlet
import MartletLink
import MartletRelay
import Testing

@Suite("History", .timeLimit(.minutes(10)))
struct RoomHistoryTests {
    private struct NoHistory: ImmediateRoomPolicy {
        func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
            request.identity.account.text == "bob" ? .granted([.publish, .request]) : .granted(.all)
        }
    }

    /// Runs a relay with a room of 100 messages, "1" at offset 1 and so on, which a reader opens at its end.
    private func withReader(
        store: some RoomStore = InMemoryStore(), policy: any RoomPolicy = .allowAll,
        _ body: (_ writer: Room, _ reader: Room) async throws -> Void
    ) async throws {
        try await withRelay(store: store, policy: policy) { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                for number in 1...99 { try await hers.send("\(number)") }
                _ = try await hers.send("100").accepted()
                try await withClient("bob", at: relay) { bob in
                    try await body(
                        hers, try await bob.open(room: "lobby", options: Room.Options(from: .latest(count: 0))))
                }
            }
        }
    }

    //
    @Test func `pages from the end give all messages once, with their cursors`() async throws {
        try await withReader { _, his in
            var page = try await his.messages(limit: 30)
            var found = page.messages
            #expect(page.lastOffset == 100 && page.firstOffset == 1 && page.log == his.log)
            while let next = page.next {
                page = try await his.messages(before: next, limit: 30)
                found = page.messages + found
            }
            #expect(found.map(\.text) == (1...100).map { "\($0)" })
            #expect(found.map(\.cursor) == (1...100).map { RoomCursor(log: his.log, offset: $0) })
            #expect(found.allSatisfy { $0.sender.text == "alice" && $0.acceptedAt > 0 })
        }
    }

    //
    @Test func `pages after a cursor end at the last message`() async throws {
        try await withReader { _, his in
            let first = try await his.messages(after: RoomCursor(offset: 40), limit: 40)
            #expect(first.messages.map(\.offset) == Array(41...80) && first.hasMore)
            let second = try await his.messages(after: try #require(first.next), limit: 40)
            #expect(second.messages.map(\.offset) == Array(81...100) && !second.hasMore)
            #expect(try await his.messages(after: RoomCursor(offset: 100)).messages == [])
            #expect(try await his.messages(after: RoomCursor(offset: 1), limit: 0).messages.count == 1)
        }
    }

    //
    @Test func `pages do not disturb the messages that are delivered`() async throws {
        try await withReader { hers, his in
            async let live = his.messages.first(20).map(\.text)
            for number in 101...120 {
                try await hers.send("\(number)")
                let page = try await his.messages(before: RoomCursor(offset: 50), limit: 5)
                #expect(page.messages.map(\.offset) == Array(45...49))
            }
            #expect(try await live == (101...120).map { "\($0)" })
        }
    }

    //
    @Test func `a time gives the first message that was accepted then or later`() async throws {
        try await withReader { _, his in
            let all = try await his.messages(limit: 100).messages
            let time = try #require(all.dropFirst(60).first).acceptedAt
            let page = try await his.messages(acceptedFrom: time, limit: 10)
            #expect(page.messages.first == all.first { $0.acceptedAt >= time })
            #expect(try await his.messages(acceptedFrom: .max).messages == [])
            #expect(try await his.messages(acceptedFrom: 0, limit: 3).messages.map(\.offset) == [1, 2, 3])
        }
    }

    //
    @Test func `a cursor of a log that the relay has lost throws logReplaced with the current log`() async throws {
        try await withReader { _, his in
            let lost = RoomCursor(log: LogID(rawValue: ~(his.log?.rawValue ?? 0)), offset: 50)
            for call in [{ try await his.messages(before: lost) }, { try await his.messages(after: lost) }] {
                await #expect(throws: MartletError.logReplaced(current: his.log)) { try await call() }
            }
            let first = try await his.messages(before: RoomCursor(offset: 3))
            #expect(first.messages.count == 2)
        }
    }

    //
    @Test func `an account that may not read earlier messages throws answeredWithFailure`() async throws {
        try await withReader(policy: NoHistory()) { hers, his in
            await #expect(throws: MartletError.answeredWithFailure(.forbidden, reason: nil)) {
                try await his.messages()
            }
            let newest = try await hers.messages()
            #expect(newest.messages.count == 50)
        }
    }

    //
    @Test func `the retention has the offsets and the bounds of the store`() async throws {
        try await withReader(store: InMemoryStore(maxMessagesPerRoom: 60)) { _, his in
            let retention = try await his.retention()
            #expect(retention.lastOffset == 100 && retention.log == his.log)
            #expect(retention.maxMessageCount == 60 && retention.maxByteCount == 8 << 20 && retention.maxAge == nil)
            #expect(retention.firstOffset == 41)
            let oldest = try await his.messages(before: RoomCursor(offset: 43))
            #expect(oldest.messages.map(\.offset) == [41, 42] && oldest.firstOffset == 41 && !oldest.hasMore)
        }
    }
}
