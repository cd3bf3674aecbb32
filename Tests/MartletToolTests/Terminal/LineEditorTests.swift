import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct LineEditorTests {
    private func edit(_ editor: inout LineEditor, _ keys: [Key]) {
        for key in keys { _ = editor.press(key) }
    }

    private func type(_ text: String) -> [Key] { text.map { .character($0) } }

    @Test func `keys insert, move the cursor and delete`() {
        var editor = LineEditor()
        edit(&editor, type("hallo") + [.left, .left, .left, .backspace] + type("e"))
        #expect(editor.text == "hello")
        #expect(editor.cursor == 2)
        edit(&editor, [.home, .delete, .end] + type("!"))
        #expect(editor.text == "ello!")
        edit(&editor, [.backspace, .left, .left, .control("k")])
        #expect(editor.text == "el")
        edit(&editor, [.control("u"), .left, .backspace, .delete, .right])
        #expect(editor.text == "")
        #expect(editor.cursor == 0)
    }

    @Test func `word keys move by words and delete a word`() {
        var editor = LineEditor()
        edit(&editor, type("one two  three") + [.wordLeft, .wordLeft])
        #expect(editor.cursor == 4)
        edit(&editor, [.wordRight])
        #expect(editor.cursor == 7)
        edit(&editor, [.control("w")])
        #expect(editor.text == "one   three")
        edit(&editor, [.wordRight, .wordRight])
        #expect(editor.cursor == 11)
    }

    @Test func `arrow keys show earlier lines and preserve the new line`() {
        var editor = LineEditor()
        edit(&editor, type("first") + [.enter] + type("second") + [.enter] + type("new"))
        edit(&editor, [.up])
        #expect(editor.text == "second")
        edit(&editor, [.up, .up])
        #expect(editor.text == "first")
        edit(&editor, [.down, .down, .down])
        #expect(editor.text == "new")
        #expect(editor.press(.enter) == .submitted("new"))
        #expect(editor.text == "")
    }

    @Test func `the history is bounded and contains no consecutive duplicates`() {
        var editor = LineEditor()
        for number in 0..<LineEditor.maxHistoryCount + 5 { edit(&editor, type("\(number)") + [.enter, .up, .enter]) }
        edit(&editor, Array(repeating: .up, count: 1000))
        #expect(editor.text == "5")
    }

    @Test func `pasted text preserves its newlines`() {
        var editor = LineEditor()
        #expect(editor.press(.paste("a\r\nb\rc")) == .edited)
        #expect(editor.text == "a\nb\nc")
    }

    @Test func `keys without a meaning are ignored`() {
        var editor = LineEditor()
        for key in [Key.tab, .escape, .pageUp, .control("z")] { #expect(editor.press(key) == .ignored) }
    }
}
