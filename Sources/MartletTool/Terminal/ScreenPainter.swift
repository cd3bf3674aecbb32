import MartletToolSupport

/// Turns images into what a terminal must be sent: only the rows that changed.
struct ScreenPainter: Sendable {
    /// Sent before the first image: the other screen, and pasted text in marks.
    static let begin = "\u{1B}[?1049h\u{1B}[?2004h\u{1B}[2J"
    /// Sent after the last image.
    static let end = "\u{1B}[?2004l\u{1B}[?1049l\u{1B}[?25h"

    private var shown: [StyledLine]?

    private let showsColours: Bool

    init(showsColours: Bool = true) {
        self.showsColours = showsColours
    }

    /// What was shown is gone, for the terminal has another size.
    mutating func forget() { shown = nil }

    /// The sequences that make the terminal show `image`; empty when it does.
    mutating func paint(_ image: ScreenImage) -> String {
        var output = ""
        if shown?.count != image.rows.count {
            output += "\u{1B}[2J"
            shown = nil
        }
        for (index, row) in image.rows.enumerated() where shown?[index] != row {
            output += "\u{1B}[\(index + 1);1H\(row.sequences(showsColours: showsColours))\u{1B}[K"
        }
        shown = image.rows
        // Between these two marks a terminal that knows them shows nothing half done.
        return "\u{1B}[?2026h\u{1B}[?25l" + output
            + "\u{1B}[\(image.cursorRow + 1);\(image.cursorColumn + 1)H\u{1B}[?25h\u{1B}[?2026l"
    }
}
