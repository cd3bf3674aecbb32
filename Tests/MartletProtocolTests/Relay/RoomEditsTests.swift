import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct RoomEditsTests {
    private func id(_ counter: UInt64) -> MessageID {
        MessageID(sender: .alice, device: DeviceID(rawValue: 1), counter: counter)
    }

    //
    @Test func `1,025 edits → the oldest is forgotten, and each is found by its target`() {
        var edits = RoomEdits()
        for number in UInt64(1)...1025 {
            edits.note(MessageErasure(offset: number, id: id(number)), of: id(5000 + number % 2))
        }
        #expect(edits.count == RoomEdits.maxCount)
        #expect(edits.edits(of: id(5001)).first == MessageErasure(offset: 3, id: id(3)))
        #expect(edits.edits(of: id(5000)).count == 512 && edits.edits(of: id(5002)).isEmpty)
    }
}
