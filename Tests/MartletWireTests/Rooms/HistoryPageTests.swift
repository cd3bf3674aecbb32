import MartletWire
import Testing

@Suite struct HistoryPageTests {
    private let log = LogID(rawValue: 0xA1)

    private func message(_ offset: UInt64) -> Message {
        let stamp = RelayStamp(
            offset: offset, acceptedAt: 1000 + offset, sender: AccountName("ada"), device: DeviceID(rawValue: 3))
        return Message(counter: offset, content: MessageContent(text: "number \(offset)"), relay: stamp)
    }

    private func content(_ offsets: [UInt64], head: UInt64 = 9, first: UInt64 = 3) -> [UInt8] {
        HistoryPage.content(
            of: Opened(head: head, first: first, log: log), messages: offsets.map { message($0).encode() })
    }

    private func page(_ offsets: [UInt64], _ position: HistoryQuery.Position) throws(WireError) -> HistoryPage {
        try HistoryPage(parsing: content(offsets), answering: HistoryQuery(position, limit: 3, log: log))
    }

    //
    @Test func `a page gives its messages, the log, and whether there are more in its direction`() throws {
        let back = try page([5, 6, 7], .before(8))
        #expect(back.messages == [message(5), message(6), message(7)])
        #expect(back.head == 9 && back.first == 3 && back.log == log && back.offsets == 5...7 && back.hasMore)
        #expect(try !page([3, 4], .before(5)).hasMore)
        #expect(try page([6, 8], .after(5)).hasMore)
        #expect(try !page([8, 9], .after(7)).hasMore)
        #expect(try page([3], .acceptedFrom(7)).hasMore)
        let empty = try page([], .before(3))
        #expect(empty.messages.isEmpty && empty.offsets == nil && !empty.hasMore)
    }

    // R-85, Specs/hostile.md row 75
    @Test(
        arguments: [
            ([5, 5], HistoryQuery.Position.before(8)), ([6, 5], .before(8)), ([5, 8], .before(8)), ([2], .before(8)),
            ([5, 6], .after(5)), ([9, 10], .after(5)), ([1, 3], .acceptedFrom(0)),
        ] as [([UInt64], HistoryQuery.Position)])
    func `offsets that do not rise, were not requested or are not in the log are refused`(
        _ offsets: [UInt64], _ position: HistoryQuery.Position
    ) {
        #expect(throws: WireError.invalidValue(.message)) { try page(offsets, position) }
    }

    // R-85, Specs/hostile.md row 75
    @Test func `more messages than the query permits, and those of another log, are refused`() throws {
        #expect(throws: WireError.tooManyTLVs(limit: 3)) { try page([5, 6, 7, 8], .after(4)) }
        let other = HistoryQuery(.after(4), limit: 3, log: LogID(rawValue: 1))
        #expect(throws: WireError.invalidValue(.log)) { try HistoryPage(parsing: content([5]), answering: other) }
        #expect(try HistoryPage(parsing: content([]), answering: other).log == log)
    }

    // R-85, Specs/hostile.md row 75
    @Test func `each truncation of a page is refused or gives the first messages`() throws {
        let whole = content([5, 6, 7])
        let query = HistoryQuery(.after(4), limit: 3, log: log)
        let all = try HistoryPage(parsing: whole, answering: query).messages
        var counts: [Int] = []
        for count in 0..<whole.count {
            guard let part = try? HistoryPage(parsing: Array(whole.prefix(count)), answering: query) else { continue }
            #expect(part.messages == Array(all.prefix(part.messages.count)))
            counts.append(part.messages.count)
        }
        // Head and first, also with the log; then one and two messages.
        #expect(counts == [0, 0, 1, 2])
    }

    //
    @Test func `a message that cannot be read is left out, unless its offset cannot be read either`() throws {
        func page(with body: [UInt8]) throws -> HistoryPage {
            let room = Opened(head: 9, first: 3, log: log)
            let bytes = HistoryPage.content(of: room, messages: [message(5).encode(), body])
            return try HistoryPage(parsing: bytes, answering: HistoryQuery(.after(4), limit: 3))
        }
        var onlyOffset = TLVWriter()
        onlyOffset.append(.offset, uint64: 6)
        let readable = try page(with: onlyOffset.bytes)
        #expect(readable.messages == [message(5)] && readable.offsets == 5...6)
        for body in [[], [1, 2, 3], Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("x"))] {
            #expect(throws: WireError.invalidValue(.message)) { try page(with: body) }
        }
    }

    //
    @Test func `a page of the maximum size is one fragment with the other fields of its response`() {
        let body = [UInt8](repeating: 0, count: HistoryPage.maxByteCount - HistoryPage.byteCount(ofMessage: 0))
        let content = HistoryPage.content(of: Opened(head: .max, first: 1, log: log), messages: [body])
        #expect(Response(correlation: .max, content: content).encode().count <= 16 * 1024)
    }
}
