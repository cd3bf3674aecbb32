import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite("Changes of messages")
struct MessageChangeTests {
    private let ada = AccountName("ada")
    private let bob = AccountName("bob")
    private var target: MessageReference {
        MessageReference(MessageID(sender: ada, device: DeviceID(rawValue: 7), counter: 3))
    }

    // M-9
    @Test func `an edit of the sender → a change; of another account or a moderator → none`() {
        let edit = MessageBody.edit(of: target, text: "a")
        #expect(MessageChange(edit, by: ada)?.effect == .edit(text: "a"))
        #expect(MessageChange(edit, by: bob) == nil)
        #expect(MessageChange(edit, by: bob, isModerator: true) == nil)
    }

    // M-5, M-9
    @Test func `a delete of the sender or a moderator → a change; of another account → none`() {
        #expect(MessageChange(.delete(target), by: ada)?.effect == .deletion)
        #expect(MessageChange(.delete(target), by: bob, isModerator: true)?.author == bob)
        #expect(MessageChange(.delete(target), by: bob) == nil)
    }

    @Test func `a reaction of any account → a change; other bodies → none`() {
        let change = MessageChange(.reaction("!", to: target, isRemoved: true), by: bob)
        #expect(change?.effect == .reaction("!", isRemoved: true) && change?.target == target.id)
        #expect(MessageChange(.text("a"), by: ada) == nil)
        #expect(MessageChange(.reply(to: target, text: "a"), by: ada) == nil)
    }
}
