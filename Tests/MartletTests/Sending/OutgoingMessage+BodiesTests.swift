import MartletWire
import Testing

@testable import Martlet

@Suite("Outgoing messages with bodies")
struct OutgoingMessageBodiesTests {
    private struct Command: Codable, Equatable {
        var name: String
        var arguments: [Int]
    }

    private let target = MessageReference(
        MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 7), counter: 3), offset: 12)

    @Test func `a message of each kind → its kind and body`() throws {
        let card = try StatusCard(id: CardID("a")!, title: "b", status: .ok)
        let messages: [(OutgoingMessage, MessageBody)] = [
            (try .reply(to: target, text: "a"), .reply(to: target, text: "a")),
            (try .edit(of: target, text: "a"), .edit(of: target, text: "a")),
            (try .delete(target), .delete(target)),
            (try .reaction("👍", to: target), .reaction("👍", to: target, isRemoved: false)),
            (try .reaction("👍", to: target, isRemoved: true), .reaction("👍", to: target, isRemoved: true)),
            (try .system(event: "call", text: "a"), .system(event: EventName("call")!, text: "a")),
            (try .attachment(Attachment(data: [1])), .attachment(Attachment(data: [1]))),
            (try .card(card), .card(card)),
        ]
        for (message, body) in messages {
            #expect(message.content.kind == body.kind)
            #expect(try MessageBody(message.content) == body)
        }
    }

    @Test func `values out of their bounds → invalidContent or invalidName`() {
        #expect(throws: MartletError.self) { try OutgoingMessage.reply(to: target, text: "") }
        #expect(throws: MartletError.self) { try OutgoingMessage.reaction("", to: target) }
        #expect(throws: MartletError.invalidName("a\nb")) { try OutgoingMessage.system(event: "a\nb") }
        #expect(throws: MartletError.self) { try OutgoingMessage(body: .other(.image)) }
    }

    @Test func `an Encodable value → a command, or a kind of the application`() throws {
        let command = Command(name: "roll", arguments: [1, 6])
        let message = try OutgoingMessage(command, timeToLive: .seconds(5), isCompressible: false)
        #expect(message.content.kind == .command && message.timeToLive == .seconds(5) && !message.isCompressible)
        let kind = ContentKind(rawValue: 0xF001)
        #expect(try OutgoingMessage(command, kind: kind).content.bytes == message.content.bytes)
        #expect(throws: MartletError.self) { try OutgoingMessage(command, kind: .text) }
        #expect(throws: MartletError.self) { try OutgoingMessage(UInt128.max) }
    }
}
