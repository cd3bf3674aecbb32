import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct ChatScreenTests {
    private let size = ScreenSize(columns: 40, rows: 8)

    private var model: ChatModel {
        var model = ChatModel(room: "lobby", account: "alice")
        model.apply(.members(["alice", "bob"]))
        model.apply(.connection(.good, "online, 23 ms"))
        model.apply(.received(sender: "bob", text: "hello there", clock: "12:00"))
        model.apply(.wrote(key: 1, text: "hi", clock: "12:01"))
        return model
    }

    private func rows(_ model: ChatModel, _ size: ScreenSize? = nil) -> [String] {
        ChatScreen.image(of: model, size: size ?? self.size).rows.map(\.text)
    }

    @Test func `a screen shows title, entries at the bottom, status and input`() {
        var model = model
        model.apply(.marked(key: 1, .accepted))
        for character in "wha" { _ = model.editor.press(.character(character)) }
        let image = ChatScreen.image(of: model, size: size)
        #expect(
            image.rows.map(\.text) == [
                " lobby  │  with bob                     ", "", "", "", "12:00 bob  hello there", "12:01 you  hi ✓",
                " ● online, 23 ms", "> wha",
            ])
        #expect(image.cursorRow == 7)
        #expect(image.cursorColumn == 5)
    }

    @Test func `the status shows typing members and a lost connection`() {
        var model = model
        model.apply(.typing("bob", true))
        model.apply(.connection(.broken, "offline"))
        #expect(rows(model)[6] == " ● offline  bob is typing…")
        model.apply(.typing("carol", true))
        #expect(rows(model)[6] == " ● offline  bob, carol are typing…")
    }

    @Test func `a long text is broken between words and indented`() {
        var model = model
        model.apply(.received(sender: "bob", text: "one two three four five six seven eight\nnine", clock: "12:02"))
        #expect(
            rows(model)[3...5] == [
                "12:02 bob  one two three four five six", "           seven eight", "           nine",
            ])
    }

    @Test func `a newline in a text begins an indented row`() {
        var model = model
        model.apply(.received(sender: "bob", text: "hi\n12:03 ada  I owe bob 100", clock: "12:02"))
        #expect(rows(model)[4...5] == ["12:02 bob  hi", "           12:03 ada  I owe bob 100"])
    }

    @Test func `a mark that does not fit has its own row`() {
        var model = model
        model.apply(.wrote(key: 2, text: String(repeating: "x", count: 28), clock: "12:02"))
        model.apply(.marked(key: 2, .failed("room is full")))
        #expect(rows(model)[5] == "           ✗ room is full")
    }

    @Test func `scrolling back shows earlier entries`() {
        var model = model
        for number in 0..<20 { model.apply(.notice("line \(number)")) }
        #expect(rows(model)[5] == "  line 19")
        #expect(ChatScreen.scrollableRowCount(of: model, size: size) == 17)
        model.scrolledRowCount = 17
        #expect(rows(model)[1] == "12:00 bob  hello there")
        #expect(rows(model)[6].contains("↓ 17 more rows"))
    }

    @Test func `the cursor of a line that is too long remains visible`() {
        var model = model
        for character in String(repeating: "日本", count: 30) + "end" { _ = model.editor.press(.character(character)) }
        var image = ChatScreen.image(of: model, size: size)
        #expect(image.rows[7].text.hasSuffix("end"))
        #expect(image.cursorColumn < 40)
        _ = model.editor.press(.home)
        image = ChatScreen.image(of: model, size: size)
        #expect(image.rows[7].text.hasPrefix("> 日本"))
        #expect(image.cursorColumn == 2)
    }

    @Test func `control characters in texts are shown as text`() {
        var model = ChatModel(room: "lobby", account: "me")
        model.apply(.received(sender: "bob", text: "c\u{1B}[31m\r\u{8}", clock: "12:00"))
        model.apply(.connection(.broken, "d\u{1B}[5m"))
        for row in rows(model) { #expect(row.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }) }
    }

    @Test(arguments: [(1, 1), (20, 4), (25, 5), (200, 60)])
    func `every row fits any screen size`(columns: Int, rowCount: Int) {
        var model = model
        model.apply(.members((0..<50).map { AccountName("someone\($0)")! }))
        model.apply(
            .received(
                sender: AccountName(String(repeating: "長", count: 30))!, text: String(repeating: "長い ", count: 50),
                clock: "12:00"))
        model.apply(.wrote(key: 9, text: String(repeating: "word ", count: 40), clock: "12:01"))
        model.apply(.marked(key: 9, .failed(String(repeating: "because ", count: 20))))
        let image = ChatScreen.image(of: model, size: ScreenSize(columns: columns, rows: rowCount))
        #expect(image.rows.count == max(rowCount, 4))
        for row in image.rows { #expect(row.width <= max(columns, 20)) }
        #expect(image.cursorRow < image.rows.count)
    }

    @Test func `text is broken at blanks if there are any`() {
        #expect(ChatScreen.wrap("", columns: 5) == [""])
        #expect(ChatScreen.wrap("ab cd ef", columns: 5) == ["ab cd", "ef"])
        #expect(ChatScreen.wrap("abcdefg", columns: 3) == ["abc", "def", "g"])
        #expect(ChatScreen.wrap("日本語", columns: 3) == ["日", "本", "語"])
    }
}
