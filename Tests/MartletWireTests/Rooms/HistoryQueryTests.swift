import MartletWire
import Testing

@Suite struct HistoryQueryTests {
    //
    @Test(arguments: [
        HistoryQuery(.before(.max), limit: 1), HistoryQuery(.after(0), limit: 256, log: LogID(rawValue: 7)),
        HistoryQuery(.acceptedFrom(1_700_000_000_000), limit: 50),
    ])
    func `a query gives the same query, and each truncation is refused`(_ query: HistoryQuery) throws {
        let content = query.content
        #expect(try HistoryQuery(parsing: content) == query)
        // The log is not required, so a query that ends before it is another valid one.
        let end = query.log == nil ? content.count : content.count - 14
        for count in 0..<content.count where count != end {
            #expect(throws: WireError.self) { try HistoryQuery(parsing: Array(content.prefix(count))) }
        }
    }

    //
    @Test func `a limit is brought into the range of a page, and 0 is refused`() throws {
        #expect(HistoryQuery(.before(1), limit: 0).limit == 1)
        #expect(HistoryQuery(.before(1), limit: 1000).limit == 256)
        func content(_ limit: UInt16) -> [UInt8] {
            var writer = TLVWriter()
            writer.append(.before, uint64: 1)
            writer.append(.limit, uint16: limit)
            return writer.bytes
        }
        #expect(try HistoryQuery(parsing: content(.max)).limit == 256)
        #expect(throws: WireError.invalidValue(.limit)) { try HistoryQuery(parsing: content(0)) }
    }

    //
    @Test func `no position and no limit are missing fields, and two positions are a duplicate`() {
        #expect(throws: WireError.missingField(.limit)) { try HistoryQuery(parsing: nil) }
        var writer = TLVWriter()
        writer.append(.limit, uint16: 5)
        let limit = writer.bytes
        #expect(throws: WireError.missingField(.cursor)) { try HistoryQuery(parsing: limit) }
        writer.append(.before, uint64: 5)
        writer.append(.acceptedAt, uint64: 5)
        let positions = writer.bytes
        #expect(throws: WireError.duplicateField(.acceptedAt)) { try HistoryQuery(parsing: positions) }
    }
}
