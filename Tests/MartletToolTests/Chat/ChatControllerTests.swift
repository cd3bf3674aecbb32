import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct ChatControllerTests {
    private func controller() -> ChatController {
        ChatController(ChatModel(room: "lobby", account: "alice"), size: ScreenSize(columns: 60, rows: 10))
    }

    private func type(_ text: String, _ controller: inout ChatController, at now: Duration = .zero) -> [ChatController
        .Action]
    {
        text.flatMap { controller.press($0 == "\n" ? .enter : .character($0), clock: "12:00", now: now) }
    }

    @Test func `a submitted line is sent and shown with its mark`() {
        var chat = controller()
        #expect(type("hi\n", &chat) == [.typing(true), .typing(false), .send(key: 1, "hi")])
        #expect(type("//me\n", &chat).last == .send(key: 2, "/me"))
        chat.apply(.marked(key: 1, .delivered))
        #expect(chat.image.rows.map(\.text).contains("12:00 you  hi ✓✓"))
    }

    @Test func `typing ends after the timeout without a key`() {
        var chat = controller()
        #expect(type("h", &chat, at: .seconds(1)) == [.typing(true)])
        #expect(type("i", &chat, at: .seconds(3)) == [])
        #expect(chat.deadline == .seconds(8))
        #expect(chat.timePassed(now: .seconds(7)) == [])
        #expect(chat.timePassed(now: .seconds(8)) == [.typing(false)])
        #expect(chat.deadline == nil)
        #expect(chat.press(.control("u"), clock: "", now: .seconds(9)) == [])
    }

    //
    @Test func `continued typing is notified again before other members stop showing it`() {
        var chat = controller()
        let actions = (0...8).map { type("h", &chat, at: .seconds($0)) }
        #expect(actions.map(\.isEmpty) == [false, true, true, true, false, true, true, true, false])
    }

    @Test func `a command is typed without a notification`() {
        var chat = controller()
        chat.apply(.members(["alice", "bob"]))
        #expect(type("/who\n", &chat) == [])
        #expect(chat.image.rows.map(\.text).contains("  Other members: bob."))
        #expect(type("/dance\n", &chat) == [])
        #expect(chat.image.rows.map(\.text).contains { $0.contains("Unknown command /dance") })
        #expect(type("/help\n", &chat) == [])
        #expect(type("/retry\n", &chat) == [.retry])
        #expect(type("   \n", &chat).contains(.typing(true)))
    }

    @Test func `the keys and the command to quit end the chat`() {
        var chat = controller()
        #expect(type("/quit\n", &chat) == [.quit])
        #expect(chat.press(.control("c"), clock: "", now: .zero) == [.quit])
        #expect(chat.press(.control("d"), clock: "", now: .zero) == [.quit])
        _ = type("x", &chat)
        #expect(chat.press(.control("d"), clock: "", now: .zero) == [])
    }

    @Test func `scrolling is limited to the conversation`() {
        var chat = controller()
        for number in 0..<20 { chat.apply(.notice("line \(number)")) }
        _ = chat.press(.pageUp, clock: "", now: .zero)
        #expect(chat.model.scrolledRowCount == 6)
        for _ in 0..<9 { _ = chat.press(.pageUp, clock: "", now: .zero) }
        #expect(chat.model.scrolledRowCount == 14)
        chat.resize(to: ScreenSize(columns: 60, rows: 20))
        #expect(chat.model.scrolledRowCount == 4)
        _ = chat.press(.pageDown, clock: "", now: .zero)
        #expect(chat.model.scrolledRowCount == 0)
        _ = chat.press(.pageUp, clock: "", now: .zero)
        _ = chat.press(.escape, clock: "", now: .zero)
        #expect(chat.model.scrolledRowCount == 0)
    }

    @Test func `the suspend key ends typing, suspends the process and preserves the line`() {
        var chat = controller()
        _ = type("h", &chat, at: .seconds(1))
        #expect(chat.press(.control("z"), clock: "", now: .seconds(2)) == [.typing(false), .suspend])
        #expect(type("i\n", &chat).last == .send(key: 1, "hi"))
    }
}
