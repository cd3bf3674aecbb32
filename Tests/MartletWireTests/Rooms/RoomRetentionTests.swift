import MartletWire
import Testing

@Suite struct RoomRetentionTests {
    //
    @Test(arguments: [
        RoomRetention(), RoomRetention(maxAge: 1), RoomRetention(maxCount: .max, maxByteCount: 0),
        RoomRetention(maxAge: 3, maxCount: 2, maxByteCount: 1),
    ])
    func `the fields behind those of opened give the same bounds`(_ retention: RoomRetention) throws {
        let content = Opened(head: 5, first: 2, log: LogID(rawValue: 1)).encode() + retention.fields
        #expect(try RoomRetention(parsing: content) == retention)
        #expect(try Opened(parsing: content.rawBytes).head == 5)
    }

    //
    @Test func `a repeated bound, or one of another length, is refused`() {
        let fields = RoomRetention(maxCount: 7).fields
        #expect(throws: WireError.duplicateField(.maxCount)) { try RoomRetention(parsing: fields + fields) }
        var writer = TLVWriter()
        writer.append(.maxAge, uint32: 7)
        let short = writer.bytes
        #expect(throws: WireError.invalidValue(.maxAge)) { try RoomRetention(parsing: short) }
    }
}
