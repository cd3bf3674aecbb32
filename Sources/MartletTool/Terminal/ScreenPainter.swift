import MartletToolSupport

/// A painter that converts images to the terminal sequences for the changed rows.
struct ScreenPainter: Sendable {
    /// The sequences before the first image: the alternate screen, and marks around pasted text.
    static let begin = "\u{1B}[?1049h\u{1B}[?2004h\u{1B}[2J"
    /// The sequences after the last image.
    static let end = "\u{1B}[?2004l\u{1B}[?1049l\u{1B}[?25h"

    private var shown: [StyledLine]?

    private let showsColors: Bool

    init(showsColors: Bool = true) {
        self.showsColors = showsColors
    }

    /// Discards the previous image after a change of the terminal size.
    mutating func forget() { shown = nil }

    /// Returns the sequences that change the screen to `image`; empty if it is shown already.
    mutating func paint(_ image: ScreenImage) -> String {
        var output = ""
        if shown?.count != image.rows.count {
            output += "\u{1B}[2J"
            shown = nil
        }
        for (index, row) in image.rows.enumerated() where shown?[index] != row {
            output += "\u{1B}[\(index + 1);1H\(row.sequences(showsColors: showsColors))\u{1B}[K"
        }
        shown = image.rows
        // A terminal that supports these two marks shows the change atomically.
        return "\u{1B}[?2026h\u{1B}[?25l" + output
            + "\u{1B}[\(image.cursorRow + 1);\(image.cursorColumn + 1)H\u{1B}[?25h\u{1B}[?2026l"
    }
}
