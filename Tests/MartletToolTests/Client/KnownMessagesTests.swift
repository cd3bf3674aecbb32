import Martlet
import MartletWire
import Testing

@testable import MartletTool

@Suite struct KnownMessagesTests {
    private let ada = AccountName("ada")

    private func id(_ counter: UInt64) -> MessageID {
        MessageID(sender: ada, device: DeviceID(rawValue: 0x1F), counter: counter)
    }

    private func change(_ body: MessageBody) throws -> MessageChange { try #require(MessageChange(body, by: ada)) }

    @Test func `a name has the offset and the start of the text, or the identity of an unknown message`() {
        let known = KnownMessages()
        known.add(id(1), offset: 12, .text("say \"]\""))
        known.add(id(2), offset: nil, .text(String(repeating: "a", count: 31)))
        #expect(known.name(of: id(1)) == #"message 12 of ada "say \"\]\"""#)
        let start = String(repeating: "a", count: 30)
        #expect(known.name(of: id(2)) == "message \(id(2)) \"\(start)\u{2026}\"")
        known.add(id(2), offset: 13, nil)
        #expect(known.name(of: id(2)) == "message 13 of ada \"\(start)\u{2026}\"")
        #expect(known.name(of: id(3)) == "message \(id(3))")
    }

    // M-4, M-5, M-10, M-11
    @Test func `an edit changes the name, a deletion removes the text, and later changes have no effect`() throws {
        let known = KnownMessages()
        known.add(id(1), offset: 1, .text("one"))
        let edit = try change(.edit(of: MessageReference(id(1)), text: "ONE"))
        #expect(known.apply(edit, at: 5))
        #expect(!known.apply(edit, at: 4))
        #expect(known.name(of: id(1)) == #"message 1 of ada "ONE""#)
        let deletion = try change(.delete(MessageReference(id(1))))
        #expect(known.apply(deletion, at: 6))
        #expect(known.name(of: id(1)) == "message 1 of ada")
        #expect(!known.apply(deletion, at: 7))
        #expect(!known.apply(edit, at: 8))
        #expect(!known.apply(try change(.reaction("!", to: MessageReference(id(1)), isRemoved: false)), at: 9))
    }

    // M-4
    @Test func `an edit of a message without a text has no effect, one of an unknown message is not refused`() throws {
        let known = KnownMessages()
        known.add(id(1), offset: 1, .command(.bool(true)))
        #expect(!known.apply(try change(.edit(of: MessageReference(id(1)), text: "a")), at: 5))
        #expect(known.apply(try change(.edit(of: MessageReference(id(2)), text: "a")), at: 6))
    }

    @Test func `one message more than the bound → the first one is unknown`() {
        let known = KnownMessages()
        for number in 1...KnownMessages.maxCount + 1 { known.add(id(UInt64(number)), offset: UInt64(number), nil) }
        #expect(known.name(of: id(1)) == "message \(id(1))")
        #expect(known.name(of: id(2)) == "message 2 of ada")
    }
}
