import Martlet
import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct MessagePartsTests {
    @Test func `a text that looks like a label is a line of its own kind`() {
        #expect(MessageParts(text: "[deleted]").line == #"\[deleted]"#)
        #expect(MessageParts(text: #"\[deleted]"#).line == #"\\[deleted]"#)
        #expect(MessageParts(label: "deleted").line == "[deleted]")
        #expect(MessageParts(label: "edited", text: "a\nb").line == #"[edited] a\nb"#)
        #expect(MessageParts(label: "edited", text: "a\nb").shown == "[edited] a\nb")
        #expect(MessageParts(text: "[a\nb").shown == "\\[a\nb")
    }

    @Test func `texts of others in a label cannot end it`() throws {
        let target = MessageReference(
            MessageID(sender: AccountName("a]"), device: DeviceID(rawValue: 1), counter: 2), offset: 7)
        let reaction = MessageBody.reaction("\"]\n", to: target, isRemoved: false)
        let parts = MessageParts(try reaction.content, reaction) { KnownMessages.name(of: $0, offset: 7) }
        #expect(parts.line == #"[reaction "\"\]\n" to message 7 of a\]]"#)
        let event = MessageBody.system(event: EventName("call.started")!, text: "Ada calls")
        #expect(MessageParts(try event.content, event) { _ in "" }.line == "[event call.started] Ada calls")
        let card = MessageBody.card(try StatusCard(id: CardID("b]")!, title: "Build", status: .failed))
        #expect(MessageParts(try card.content, card) { _ in "" }.line == #"[card "b\]", failed] Build"#)
    }

    // M-1
    @Test func `a damaged message has its size in place of a text`() throws {
        let content = try MessageContent(kind: .reply, bytes: [])
        #expect(MessageParts(content, nil) { _ in "" }.line == "[\(Quantity.text(byteCount: 0)) without text]")
        #expect(ContentKind.delete.isChange && !ContentKind.reply.isChange)
    }

    @Test func `every number of a kind → a name in words, as in the registry`() {
        for number in 0...UInt16.max {
            let name = ContentKind(rawValue: number).typeName
            #expect(name.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
        }
        #expect(ContentKind.delete.typeName == "delete")
        #expect(ContentKind(rawValue: 0x7777).typeName == "unknown")
        #expect(ContentKind(rawValue: 0xF123).typeName == "application")
    }
}
