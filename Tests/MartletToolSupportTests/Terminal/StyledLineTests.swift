import Testing

@testable import MartletToolSupport

@Suite struct StyledLineTests {
    @Test func `pieces are printed in their styles`() {
        var line = StyledLine("plain ")
        line.append("bold", .bold)
        line.append("")
        #expect(line.sequences(showsColors: true) == "plain \u{1B}[1mbold\u{1B}[0m")
        #expect(line.width == 10)
        #expect(line.pieces.count == 2)
    }

    @Test func `without colors bold text remains bold`() {
        var line = StyledLine("red", .red)
        line.append("bold", .bold)
        #expect(line.sequences(showsColors: false) == "red\u{1B}[1mbold\u{1B}[0m")
        #expect(!Terminal.showsColors(noColor: "1"))
        #expect(Terminal.showsColors(noColor: ""))
        #expect(Terminal.showsColors(noColor: nil))
    }

    @Test func `clipping applies across pieces`() {
        var line = StyledLine("日本")
        line.append("ab", .red)
        #expect(line.clipped(to: 5).text == "日本a")
        #expect(line.clipped(to: 3).text == "日")
        #expect(line.padded(to: 8).text == "日本ab  ")
        #expect(line.padded(to: 2).text == "日")
    }

    @Test func `equal names have equal colors`() {
        #expect(Style.color(of: "alice") == Style.color(of: "alice"))
        #expect(Style.nameColors.contains(Style.color(of: String(repeating: "z", count: 200))))
    }
}
