import MartletLink
import MartletRelay
import MartletWire
import Testing

@testable import MartletAdmin

@Suite struct CardEventsTests {
    private static let room: RoomName = "ci"
    private var events = CardEvents(rooms: [room]) { $0 == "server" }
    private var lastID: UInt64 = 0

    private func entry(
        _ offset: UInt64, _ body: MessageBody, counter: UInt64? = nil, by sender: AccountName = "ada"
    ) throws -> LogEntry {
        let stamp = RelayStamp(offset: offset, acceptedAt: 1000, sender: sender, device: DeviceID(rawValue: 7))
        let message = Message(counter: counter ?? offset, content: try body.content, relay: stamp)
        return LogEntry(
            offset: offset, sender: sender, device: DeviceID(rawValue: 7), counter: counter ?? offset, acceptedAt: 1000,
            body: EncodedBody(message.encode()))
    }

    private func card(_ name: String = "b", _ status: CardStatus = .ok, title: String = "B") throws -> MessageBody {
        .card(try StatusCard(id: CardID(name)!, title: title, status: status))
    }

    private mutating func add(_ entries: LogEntry...) -> Bool {
        events.add(entries, of: Self.room) {
            lastID += 1
            return lastID
        }
    }

    private func texts(after id: UInt64? = nil) -> [String] {
        events.events(after: id).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test mutating func `a card → an event with its fields, escaped`() throws {
        let card = try StatusCard(
            id: CardID("b\"")!, title: "<b>\\", status: .failed, details: [.init("k", "v"), .init("e", "")], time: 7,
            url: "https://a/")
        #expect(add(try entry(1, .text("a")), try entry(2, .card(card))))
        #expect(
            texts() == [
                #"""
                event: card
                id: 1
                data: {"room":"ci","account":"ada","id":"b\"","status":"failed","title":"<b>\\","details":[["k","v"],\#
                ["e",""]],"time":7,"accepted":1000,"url":"https://a/"}


                """#
            ])
        #expect(String(decoding: events.beginning, as: UTF8.self) == "event: rooms\ndata: [\"ci\"]\n\n")
    }

    @Test mutating func `a card twice → one event, of the later state, for a reader of the first, too`() throws {
        _ = add(try entry(1, card()), try entry(2, card("c")), try entry(3, card("b", .failed)))
        #expect(texts().map { $0.contains("\"failed\"") } == [false, true])
        #expect(events.events(after: 2).map(\.id) == [3] && events.events(after: 3).isEmpty)
    }

    @Test mutating func `a removed or deleted card → an event without a title`() throws {
        _ = add(try entry(1, card()), try entry(2, card("c")), try entry(3, card("b", .removed)))
        _ = add(try entry(3, card("b", .removed)), try entry(4, .delete(MessageReference(entry(2, card("c")).id))))
        #expect(texts().allSatisfy { $0.contains("\"status\":\"removed\"}") } && texts().count == 2)
    }

    @Test mutating func `a delete by another account → removed if the relay erases for it`() throws {
        let first = try entry(1, card())
        _ = add(first, try entry(2, .delete(MessageReference(first.id)), by: "bob"))
        #expect(texts().map { $0.contains("removed") } == [false])
        _ = add(try entry(3, .delete(MessageReference(first.id)), by: "server"))
        #expect(texts().map { $0.contains("removed") } == [true])
    }

    @Test mutating func `the last message again → no more messages; with others → these only`() throws {
        #expect(events.nextOffset(of: Self.room) == 1)
        #expect(!add())
        #expect(add(try entry(1, card()), try entry(2, .text("a"))))
        #expect(events.nextOffset(of: Self.room) == 2)
        #expect(!add(try entry(2, .text("a"))))
        #expect(add(try entry(2, .text("a")), try entry(3, card("c"))))
        #expect(events.nextOffset(of: Self.room) == 3 && lastID == 2)
    }

    @Test
    mutating func `a log without the last message, or with another → its cards are removed`()
        throws
    {
        _ = add(try entry(1, card()))
        #expect(add())
        #expect(texts().map { $0.contains("\"removed\"") } == [true] && events.nextOffset(of: Self.room) == 1)
        _ = add(try entry(1, card()), try entry(2, card("c")))
        #expect(add(try entry(2, card("c"), counter: 9)))
        #expect(texts().allSatisfy { $0.contains("\"removed\"") } && events.nextOffset(of: Self.room) == 1)
    }

    @Test mutating func `a log without its first messages → the cards remain`() throws {
        _ = add(try entry(1, card()))
        #expect(add(try entry(5, card("c"))))
        #expect(texts().count == 2 && !texts()[0].contains("\"removed\""))
    }

    @Test mutating func `a damaged card → no event`() throws {
        let stamp = RelayStamp(offset: 1, acceptedAt: 0, sender: "ada", device: DeviceID(rawValue: 7))
        let message = Message(counter: 1, kind: .card, content: [], relay: stamp)
        let damaged = LogEntry(
            offset: 1, sender: "ada", device: DeviceID(rawValue: 7), counter: 1, acceptedAt: 0,
            body: EncodedBody(message.encode()))
        #expect(add(damaged) && texts().isEmpty)
    }

    // Specs/hostile.md row 107
    @Test mutating func `events of more bytes than the bound → the latest ones`() throws {
        let title = String(repeating: "t", count: 256)
        for offset in 1...1600 { _ = add(try entry(UInt64(offset), card("\(offset % 800)", title: title))) }
        let bytes = events.events(after: nil).reduce(0) { $0 + $1.bytes.count }
        #expect(bytes <= CardEvents.maxByteCount && bytes > CardEvents.maxByteCount - 1000)
        #expect(texts().last!.contains("\"id\":\"0\""))
    }
}
