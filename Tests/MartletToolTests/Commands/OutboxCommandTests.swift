import Martlet
import MartletWire
import Testing

@testable import MartletTool

// C-105
@Suite("martlet outbox")
struct OutboxCommandTests {
    private let id = MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 10), counter: 7)

    @Test func `a pending message → its room, counter and text in a line`() {
        let content = MessageContent(text: "one\ntwo")
        let line = OutboxCommand.line(id, "lobby", content, failure: nil, isJSON: false)
        #expect(line.hasPrefix("pending lobby 7: one") && !line.contains("\n"))
    }

    @Test func `a failed message → a JSON object with the reason`() {
        let content = MessageContent(text: "late")
        let line = OutboxCommand.line(id, "lobby", content, failure: .expired, isJSON: true)
        #expect(line.hasPrefix(#"{"state":"failed","room":"lobby","sender":"ada","device":"a","counter":7,"#))
        #expect(line.contains(#""text":"late","failure":"expired","reason":"#))
    }
}
