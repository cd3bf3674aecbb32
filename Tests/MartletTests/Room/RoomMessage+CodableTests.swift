import Foundation
import Martlet
import Testing

@Suite("Codable messages")
struct RoomMessageCodableTests {
    private func message(_ content: MessageContent, timeToLive: Duration? = nil) throws -> RoomMessage {
        let id = MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: .max), counter: 7)
        return RoomMessage(
            id: id, at: RoomCursor(log: LogID(rawValue: 9), offset: 3), content: content,
            acceptedAt: 1_700_000_000_123, timeToLive: timeToLive)
    }

    @Test func `a message of any kind is equal after encoding and decoding`() throws {
        let command = try OutgoingMessage(["a": 1]).content
        for message in [
            try message(MessageContent(text: "hello")), try message(command),
            try message(MessageContent(text: "soon over"), timeToLive: .seconds(5)),
        ] {
            let decoded = try JSONDecoder().decode(RoomMessage.self, from: JSONEncoder().encode(message))
            #expect(decoded == message && decoded.hashValue == message.hashValue)
            #expect(decoded.timeToLive == message.timeToLive && decoded.cursor == message.cursor)
        }
    }

    @Test(arguments: [
        (#""counter":7"#, #""counter":0"#), (#""offset":3"#, #""offset":0"#), (#""text":"hello""#, #""text":"""#),
        (#""sender":"ada""#, #""sender":"a\nb""#), (#""text":"hello""#, #""kind":1,"bytes":[1,2]"#),
    ])
    func `an encoding with an invalid value throws DecodingError`(valid: String, invalid: String) throws {
        let json = String(decoding: try JSONEncoder().encode(message(MessageContent(text: "hello"))), as: UTF8.self)
        let damaged = json.replacing(valid, with: invalid)
        #expect(damaged != json)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(RoomMessage.self, from: Data(damaged.utf8))
        }
    }
}
