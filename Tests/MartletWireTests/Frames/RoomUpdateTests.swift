import Testing

@testable import MartletWire

@Suite struct RoomUpdateTests {
    private let entry = RoomEntry(
        room: RoomName("lobby"), membership: .invited, inviter: AccountName("bob"), changedAt: 5,
        log: LogID(rawValue: 6), lastOffset: 9, firstOffset: 2, message: [1, 2], isShortened: true, delivered: 4,
        read: 3,
        unreadCount: 7)

    // W-102
    @Test("an entry with every field, and an update without fields, are the same after encoding and parsing")
    func roundTrip() throws {
        for update in [RoomUpdate(entry), RoomUpdate(nil)] {
            let body = update.encode()
            #expect(try RoomUpdate(parsing: body.rawBytes) == update)
        }
        #expect(RoomUpdate(nil).encode().isEmpty)
    }

    // W-102
    @Test("an entry without a room, a membership or an offset is refused with missingField")
    func missing() {
        for tag in [Tag.room, .membership, .head, .first] {
            var writer = TLVWriter()
            let body = RoomUpdate(entry).encode()
            var reader = TLVReader(body.rawBytes)
            while let field = try? reader.next() {
                if field.tag != tag { writer.append(field.tag, bytes: field.value) }
            }
            let bytes = writer.bytes
            #expect(throws: WireError.missingField(tag)) { try RoomUpdate(parsing: bytes.rawBytes) }
        }
    }

    @Test("a state that is not known is refused with invalidValue")
    func invalid() {
        var writer = TLVWriter()
        writer.append(.room, string: "lobby")
        writer.append(.membership, uint8: 3)
        let bytes = writer.bytes
        #expect(throws: WireError.invalidValue(.membership)) { try RoomUpdate(parsing: bytes.rawBytes) }
    }
}
