import MartletWire
import Testing

@testable import Martlet

@Suite("Received messages")
struct RoomMessageTests {
    private func received(_ content: MessageContent) throws -> RoomMessage {
        let stamp = RelayStamp(
            offset: 12, acceptedAt: 1_700_000_000_000, sender: AccountName("ada"), device: DeviceID(rawValue: 7))
        return try #require(RoomMessage(Message(counter: 3, content: content, relay: stamp)))
    }

    @Test func `a message → a reference with its identity and offset`() throws {
        let message = try received(MessageContent(text: "a"))
        #expect(message.reference == MessageReference(message.id, offset: 12))
        #expect(try message.body == .text("a"))
    }

    @Test func `a reply and an attachment → their text and caption; an edit and a damaged content → none`() throws {
        let target = MessageReference(MessageID(sender: "bob", device: DeviceID(rawValue: 1), counter: 1))
        #expect(try received(OutgoingMessage.reply(to: target, text: "/help").content).text == "/help")
        let attachment = Attachment(data: [1], name: "cat.png", caption: "a cat")
        #expect(try received(OutgoingMessage.attachment(attachment).content).text == "a cat")
        #expect(try received(OutgoingMessage.attachment(Attachment(data: [1])).content).text == nil)
        #expect(try received(OutgoingMessage.edit(of: target, text: "b").content).text == nil)
        #expect(try received(MessageContent(kind: .reply, bytes: [])).text == nil)
    }

    @Test func `messages of two accounts with the same device ID and counter have different IDs`() throws {
        let messages = try ["ada", "bob"].map { name in
            let account = try #require(AccountName(name))
            return RoomMessage(
                id: MessageID(sender: account, device: DeviceID(rawValue: 7), counter: 3), at: RoomCursor(offset: 1),
                content: MessageContent(text: "hello"), acceptedAt: 0)
        }
        #expect(messages[0].id != messages[1].id)
        #expect(Set(messages).count == 2)
    }

    // M-1
    @Test func `a damaged content of a known kind → invalidContent; an unknown kind → its number`() throws {
        let damaged = try received(MessageContent(kind: .delete, bytes: []))
        #expect(throws: MartletError.invalidContent("the field target is missing")) { try damaged.body }
        let kind = ContentKind(rawValue: 0xF001)
        #expect(try received(MessageContent(kind: kind, bytes: [])).body == .other(kind))
    }

    @Test func `a value → the value of a Decodable type; another type or content → invalidContent`() throws {
        let message = try received(try OutgoingMessage(["a": [1, 2]]).content)
        #expect(try message.decode([String: [Int]].self) == ["a": [1, 2]])
        #expect(throws: MartletError.self) { try message.decode(String.self) }
        let other = try received(MessageContent(kind: .command, bytes: []))
        #expect(throws: MartletError.self) { try other.decode(String.self) }
    }
}
