import Testing

@testable import MartletWire

@Suite struct RoomListPageTests {
    private func entry(_ name: String, messageByteCount: Int = 0) -> RoomEntry {
        var entry = RoomEntry(room: RoomName(name)!, membership: .joined)
        if messageByteCount > 0 { entry.message = Array(repeating: 1, count: messageByteCount) }
        return entry
    }

    //
    @Test("the entries that fit are in a page, at least one, and hasMore is set if some do not")
    func fits() throws {
        let entries = (1...8).map { entry("room \($0)", messageByteCount: 4000) }
        let content = RoomListPage(entries: entries, hasMore: false).content
        let page = try RoomListPage(parsing: content, answering: RoomListQuery())
        #expect(page.entries == Array(entries.prefix(3)) && page.hasMore)
        #expect(content.count <= RoomListPage.maxByteCount + 7)
    }

    // Specs/hostile.md row 82
    @Test("rooms that do not rise, were not requested or are too many, and a page that continues nothing, are refused")
    func hostile() {
        let query = RoomListQuery(after: RoomName("b"), limit: 2)
        let bad: [[RoomEntry]] = [
            [entry("b")], [entry("d"), entry("c")], [entry("c"), entry("c")],
            [RoomEntry(room: RoomName("c"), membership: .none)],
        ]
        for entries in bad {
            let content = RoomListPage(entries: entries, hasMore: false).content
            #expect(throws: WireError.invalidValue(.entry)) { try RoomListPage(parsing: content, answering: query) }
        }
        let many = RoomListPage(entries: ["c", "d", "e"].map { entry($0) }, hasMore: false).content
        #expect(throws: WireError.tooManyTLVs(limit: 2)) { try RoomListPage(parsing: many, answering: query) }
        let endless = RoomListPage(entries: [], hasMore: true).content
        #expect(throws: WireError.invalidValue(.hasMore)) { try RoomListPage(parsing: endless, answering: query) }
    }

    @Test("a query is the same after encoding and parsing; a limit of 0 is refused")
    func query() throws {
        let query = RoomListQuery(after: RoomName("a"), limit: 7)
        #expect(try RoomListQuery(parsing: query.content) == query)
        var writer = TLVWriter()
        writer.append(.limit, uint16: 0)
        let bytes = writer.bytes
        #expect(throws: WireError.invalidValue(.limit)) { try RoomListQuery(parsing: bytes) }
    }

    //
    @Test("a query without a limit is refused, and a limit of 65 counts as 64")
    func limit() throws {
        #expect(throws: WireError.missingField(.limit)) { try RoomListQuery(parsing: nil) }
        var writer = TLVWriter()
        writer.append(.limit, uint16: 65)
        let bytes = writer.bytes
        #expect(try RoomListQuery(parsing: bytes).limit == 64)
    }
}
