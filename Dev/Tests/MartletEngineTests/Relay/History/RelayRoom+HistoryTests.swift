import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite("RelayRoom, history") struct RoomHistoryTests {
    private func ask(
        _ script: inout RoomScript, _ name: String, _ correlation: UInt64, _ query: HistoryQuery
    ) -> [RoomScript.Effect] {
        ask(&script, name, correlation, query.content)
    }

    private func ask(
        _ script: inout RoomScript, _ name: String, _ correlation: UInt64, _ content: [UInt8]
    ) -> [RoomScript.Effect] {
        let request = Request(
            correlation: correlation, method: HistoryQuery.method, deadline: .seconds(60), content: content)
        let now = script.now
        script.with(name) { $0.receive(.request($1, request), now: now) }
        return script.drain()
    }

    /// The offsets in the response to a request; nil if there is none, or it is a failure.
    private func page(_ effects: [RoomScript.Effect], _ correlation: UInt64, _ query: HistoryQuery) -> HistoryPage? {
        for case .sent(_, .response(let response)) in effects where response.correlation == correlation {
            return response.status == .none ? try? HistoryPage(parsing: response.content, answering: query) : nil
        }
        return nil
    }

    private func failure(_ name: String, _ correlation: UInt64, _ code: ErrorCode) -> RoomScript.Effect {
        .sent(name, .response(Response(correlation: correlation, status: code)))
    }

    //
    @Test func `a request reads the store and gives the messages as they were delivered`() throws {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...9)
        let query = HistoryQuery(.before(8), limit: 3)
        #expect(ask(&script, "bob", 7, query) == [.readHistory("bob", request: 1, 5...7)])
        script.read("bob", request: 1, 5...7)
        let found = try #require(page(script.drain(), 7, query))
        let expected = try script.log[4..<7].map { try Message(parsing: $0.body.rawBytes) }
        #expect(found.messages == expected)
        #expect(found.head == 9 && found.first == 1 && found.hasMore)
        #expect(script.rooms.deadline == nil)
    }

    //
    @Test func `messages are stored while a page is read → the head is that of the request`() throws {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...9)
        let query = HistoryQuery(.acceptedFrom(.max), limit: 3)
        #expect(ask(&script, "bob", 7, query) == [.readHistory("bob", request: 1, 5...5)])
        script.fill("alice", 10...12)
        for offset in [5, 8, 9] as [UInt64] {
            script.read("bob", request: 1, offset...offset)
            if let found = page(script.drain(), 7, query) {
                #expect(found.messages.isEmpty && found.head == 9)
                return
            }
        }
        Issue.record("no page")
    }

    //
    @Test func `a page changes neither the cursor nor the delivery of its reader`() {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...5)
        script.join("carol", tail: 0)
        _ = script.drain()
        _ = ask(&script, "carol", 1, HistoryQuery(.before(.max), limit: 2))
        script.post("alice", 6)
        _ = script.drain()
        script.store()
        #expect(script.drain().offsets(to: "carol") == [6])
        script.read("carol", request: 1, 4...5)
        #expect(script.drain().offsets(to: "carol") == [])
        script.post("alice", 7)
        _ = script.drain()
        script.store()
        #expect(script.drain().offsets(to: "carol") == [7])
    }

    //
    @Test func `a message that is not durable is not read`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...3)
        script.post("alice", 4)
        #expect(script.drain() == [.append([4])])
        #expect(
            ask(&script, "alice", 1, HistoryQuery(.before(.max), limit: 9))
                == [.readHistory("alice", request: 1, 1...3)])
        #expect(page(ask(&script, "alice", 2, HistoryQuery(.after(3), limit: 9)), 2, .init(.after(3), limit: 9)) != nil)
    }

    //
    @Test func `messages that the store has removed meanwhile raise the first offset of the page`() throws {
        var script = RoomScript("alice")
        script.fill("alice", 1...9)
        let query = HistoryQuery(.after(2), limit: 2)
        #expect(ask(&script, "alice", 1, query) == [.readHistory("alice", request: 1, 3...4)])
        script.read("alice", request: 1, 6...7, first: 6)
        let found = try #require(page(script.drain(), 1, query))
        #expect(found.offsets == 6...7 && found.first == 6)
    }

    //
    @Test func `an offset of another log gives no messages and the current log, without a read`() throws {
        let log = LogID(rawValue: 5)
        var script = RoomScript("alice", snapshot: RoomSnapshot(log: log))
        script.fill("alice", 1...9)
        let query = HistoryQuery(.before(5), limit: 2, log: LogID(rawValue: 4))
        let found = try #require(page(ask(&script, "alice", 1, query), 1, query))
        #expect(found.messages.isEmpty && found.log == log && found.head == 9)
        let same = HistoryQuery(.before(5), limit: 2, log: log)
        #expect(ask(&script, "alice", 2, same) == [.readHistory("alice", request: 2, 3...4)])
    }

    // R-84, Specs/hostile.md row 74
    @Test func `a third request gives tooManyRequests, also after a cancel, until the store has answered`() {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...9)
        let query = HistoryQuery(.before(8), limit: 3)
        for number in [1, 2] as [UInt64] {
            #expect(ask(&script, "bob", number, query) == [.readHistory("bob", request: number, 5...7)])
        }
        #expect(ask(&script, "bob", 3, query) == [failure("bob", 3, .tooManyRequests)])
        script.with("bob") { $0.receive(.cancel($1, correlation: 1)) }
        #expect(ask(&script, "bob", 4, query) == [failure("bob", 4, .tooManyRequests)])
        #expect(ask(&script, "alice", 5, query) == [.readHistory("alice", request: 5, 5...7)])
        script.read("bob", request: 1, 5...7)
        #expect(script.drain() == [])
        #expect(ask(&script, "bob", 6, query) == [.readHistory("bob", request: 6, 5...7)])
    }

    //
    @Test func `a failure of the store gives storeUnavailable, and the session continues`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...9)
        _ = ask(&script, "alice", 1, HistoryQuery(.before(8), limit: 3))
        script.read("alice", request: 1, nil)
        #expect(script.drain() == [failure("alice", 1, .storeUnavailable)])
        _ = ask(&script, "alice", 2, HistoryQuery(.before(8), limit: 3))
        script.read("alice", request: 2, 5...7)
        #expect(script.drain().count == 1)
    }

    //
    @Test func `a request whose deadline has passed, or whose member has left, gives no second answer`() {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...9)
        _ = ask(&script, "bob", 1, HistoryQuery(.acceptedFrom(1005), limit: 3))
        script.now = script.now + .seconds(61)
        script.rooms.deadlinePassed(now: script.now)
        #expect(script.drain() == [failure("bob", 1, .deadlineExceeded)])
        script.read("bob", request: 1, 5...5)
        #expect(script.drain() == [])
        _ = ask(&script, "bob", 2, HistoryQuery(.acceptedFrom(1005), limit: 3))
        script.with("bob") { $0.receive(.leave($1)) }
        _ = script.drain()
        script.read("bob", request: 2, 5...5)
        #expect(script.drain() == [])
    }

    //
    @Test func `a time is searched by reads of one message`() throws {
        var script = RoomScript("alice")
        script.fill("alice", 1...9)
        let query = HistoryQuery(.acceptedFrom(1007), limit: 2)
        var effects = ask(&script, "alice", 1, query)
        var middles: [UInt64] = []
        while case .readHistory(_, _, let range)? = effects.first {
            if range.count == 1 { middles.append(range.lowerBound) }
            script.read("alice", request: 1, range)
            effects = script.drain()
        }
        #expect(middles == [5, 8, 7, 6])
        #expect(page(effects, 1, query)?.offsets == 7...8)
    }

    //
    @Test func `a content that is not valid gives the code of its fault`() {
        var script = RoomScript("alice")
        #expect(ask(&script, "alice", 1, []) == [failure("alice", 1, .missingField)])
        let limit = HistoryQuery(.before(1), limit: 1).content
        #expect(ask(&script, "alice", 2, limit + limit) == [failure("alice", 2, .duplicateField)])
    }

    // W-29, R-80
    @Test func `a content with an unknown critical tag -> invalidValue`() {
        var script = RoomScript("alice")
        let content = HistoryQuery(.before(1), limit: 1).content + [0xF0, 0x01, 0, 0, 0, 0]
        #expect(ask(&script, "alice", 1, content) == [failure("alice", 1, .invalidValue)])
    }
}
