import Foundation
import Martlet
import Testing

@Suite("Dates of messages")
struct RoomMessageDateTests {
    @Test func `the date of a message is the time of its acceptance`() throws {
        let id = MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 1), counter: 1)
        let message = RoomMessage(
            id: id, at: RoomCursor(offset: 1), content: MessageContent(text: "hello"), acceptedAt: 1_500)
        #expect(message.date == Date(timeIntervalSince1970: 1.5))
    }
}
