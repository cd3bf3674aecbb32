import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite("Effects of changes")
struct MessageEffectsTests {
    private let ada = AccountName("ada")
    private var target: MessageReference {
        MessageReference(MessageID(sender: ada, device: DeviceID(rawValue: 7), counter: 3))
    }

    private func reaction(_ text: String, isRemoved: Bool = false) throws -> MessageChange {
        try #require(MessageChange(.reaction(text, to: target, isRemoved: isRemoved), by: ada))
    }

    // M-10
    @Test func `a change that is applied again → no effect`() throws {
        var effects = MessageEffects()
        let edit = try #require(MessageChange(.edit(of: target, text: "a"), by: ada))
        effects.apply(edit, at: 5)
        effects.apply(try reaction("!"), at: 6)
        let before = effects
        effects.apply(edit, at: 5)
        effects.apply(try reaction("!"), at: 6)
        #expect(effects == before && effects.text == "a")
    }

    // M-11
    @Test func `an edit and a reaction after a deletion → neither text nor reactions`() throws {
        var effects = MessageEffects()
        effects.apply(try #require(MessageChange(.delete(target), by: ada)), at: 5)
        effects.apply(try #require(MessageChange(.edit(of: target, text: "a"), by: ada)), at: 6)
        effects.apply(try reaction("!"), at: 7)
        #expect(effects.isDeleted && effects.text == nil && effects.reactions.isEmpty)
    }

    // M-12
    @Test func `one reaction more than the bound → the one with the lowest offset is dropped`() throws {
        var effects = MessageEffects()
        for number in 1...MessageEffects.maxReactionCount + 1 {
            effects.apply(try reaction("\(number)"), at: UInt64(number))
        }
        #expect(effects.reactions.count == MessageEffects.maxReactionCount)
        #expect(effects.reactions.first?.text == "2")
    }

    // M-4, M-5
    @Test func `an edit changes the text of a text, reply or attachment, and a deletion leaves no body`() throws {
        var effects = MessageEffects()
        let file = Attachment(location: "a", byteCount: 1)
        #expect(effects.body(of: .text("a")) == .text("a"))
        effects.apply(try #require(MessageChange(.edit(of: target, text: "b"), by: ada)), at: 5)
        #expect(effects.body(of: .text("a")) == .text("b"))
        #expect(effects.body(of: .reply(to: target, text: "a")) == .reply(to: target, text: "b"))
        #expect(
            effects.body(of: .attachment(file)) == .attachment(Attachment(location: "a", byteCount: 1, caption: "b")))
        #expect(effects.body(of: .command(.bool(true))) == .command(.bool(true)))
        effects.apply(try #require(MessageChange(.delete(target), by: ada)), at: 6)
        #expect(effects.body(of: .text("a")) == nil)
    }
}
