import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct ScreenPainterTests {
    private func image(_ rows: String...) -> ScreenImage {
        ScreenImage(rows: rows.map { StyledLine($0) }, cursorRow: rows.count - 1, cursorColumn: 2)
    }

    @Test func `only changed rows are sent`() {
        var painter = ScreenPainter()
        let first = painter.paint(image("title", "one", "> "))
        #expect(first.contains("\u{1B}[2J"))
        #expect(first.contains("\u{1B}[2;1Hone\u{1B}[K"))
        let second = painter.paint(image("title", "two", "> "))
        #expect(!second.contains("title"))
        #expect(!second.contains("\u{1B}[2J"))
        #expect(second.contains("\u{1B}[2;1Htwo\u{1B}[K"))
        #expect(second.contains("\u{1B}[3;3H"))
    }

    @Test func `a changed height or a forgotten image sends all rows`() {
        var painter = ScreenPainter()
        _ = painter.paint(image("a", "b"))
        #expect(painter.paint(image("a", "b", "c")).contains("\u{1B}[1;1Ha"))
        painter.forget()
        #expect(painter.paint(image("a", "b", "c")).contains("\u{1B}[1;1Ha"))
    }
}
