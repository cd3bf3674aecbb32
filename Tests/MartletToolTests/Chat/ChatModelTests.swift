import Martlet
import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct ChatModelTests {
    @Test func `the mark of an own message never returns to an earlier state`() {
        var model = ChatModel(room: "lobby", account: "alice")
        model.apply(.wrote(key: 7, text: "hi", clock: "12:00"))
        let steps: [(DeliveryMark, DeliveryMark)] = [
            (.sent, .sent), (.delivered, .delivered), (.accepted, .delivered), (.read, .read), (.queued, .read),
        ]
        for (event, expected) in steps {
            model.apply(.marked(key: 7, event))
            #expect(model.entries == [.message(sender: "alice", text: "hi", clock: "12:00", key: 7, mark: expected)])
        }
        model.apply(.marked(key: 8, .read))
        #expect(model.entries.count == 1)
    }

    @Test func `presence and typing events determine the shown members`() {
        var model = ChatModel(room: "lobby", account: "alice")
        model.apply(.members(["carol", "alice", "bob"]))
        #expect(model.others.map(\.name) == ["bob", "carol"])
        model.apply(.typing("bob", true))
        model.apply(.typing("alice", true))
        #expect(model.typing == ["bob"])
        model.apply(.received(sender: "bob", text: "hi", clock: "12:00"))
        #expect(model.typing == [])
        model.apply(.typing("carol", true))
        model.apply(.presence("carol", .away))
        model.apply(.presence("bob", nil))
        #expect(model.others.map(\.name) == ["carol"])
        #expect(model.others.map(\.presence) == [.away])
        #expect(model.typing == [])
    }

    @Test func `old entries are removed and marks still find their entries`() {
        var model = ChatModel(room: "lobby", account: "alice")
        model.apply(.wrote(key: 1, text: "first", clock: ""))
        for number in 0..<ChatModel.maxEntryCount - 1 { model.apply(.notice("\(number)")) }
        model.apply(.wrote(key: 2, text: "last", clock: ""))
        #expect(model.entries.count == ChatModel.maxEntryCount)
        model.apply(.marked(key: 1, .read))
        model.apply(.marked(key: 2, .accepted))
        #expect(model.entries.first == .notice("0"))
        #expect(model.entries.last == .message(sender: "alice", text: "last", clock: "", key: 2, mark: .accepted))
    }

    // M-5
    @Test func `a deletion removes the texts of the message, received or own, and of no other`() throws {
        let ada = AccountName("ada")
        let ids = (1...3).map { MessageID(sender: ada, device: DeviceID(rawValue: 1), counter: UInt64($0)) }
        var model = ChatModel(room: "lobby", account: "ada")
        model.apply(.received(sender: "ada", text: "one", clock: "", id: ids[0]))
        model.apply(.wrote(key: 1, text: "two", clock: ""))
        model.apply(.queued(key: 1, ids[1]))
        model.apply(.received(sender: "ada", text: "three", clock: "", id: ids[2]))
        model.apply(.deleted(ids[0]))
        model.apply(.deleted(ids[1]))
        model.apply(.marked(key: 1, .accepted))
        #expect(
            model.entries == [
                .message(sender: "ada", label: "deleted", text: "", clock: "", key: nil, mark: nil, id: ids[0]),
                .message(sender: "ada", label: "deleted", text: "", clock: "", key: 1, mark: .accepted, id: ids[1]),
                .message(sender: "ada", text: "three", clock: "", key: nil, mark: nil, id: ids[2]),
            ])
    }
}
