import MartletToolSupport

/// The full screen of a terminal in raw mode.
///
/// | state | left by |
/// |---|---|
/// | entered: raw mode, the alternate screen | `suspend()`, `leave()` |
/// | suspended: the mode before `enter` is restored | `resume()`, after the process was continued |
struct FullScreen {
    private let mode: RawMode
    private var painter: ScreenPainter
    private var isSuspended = false

    /// Enters the full screen of the terminal on standard input and output; nil if there is none.
    init?(showsColors: Bool) throws(CommandError) {
        guard let mode = RawMode(STDIN_FILENO) else { return nil }
        self.mode = mode
        painter = ScreenPainter(showsColors: showsColors)
        try enter()
    }

    /// Whether the process can be suspended. Without job control no shell would continue it.
    static var hasJobControl: Bool { getpgrp() != getsid(0) }

    /// Restores the terminal and stops the process group, like the suspend key of the terminal. After SIGCONT the
    /// caller calls `resume()`. The process may execute a few instructions before it stops.
    mutating func suspend() {
        guard !isSuspended, Self.hasJobControl else { return }
        leave()
        isSuspended = true
        kill(0, SIGSTOP)
    }

    /// Enters the full screen again after the process was continued.
    mutating func resume() throws(CommandError) {
        isSuspended = false
        painter.forget()
        try enter()
    }

    /// Reports a change of the terminal size.
    mutating func resized() { painter.forget() }

    mutating func paint(_ image: ScreenImage) throws(CommandError) {
        guard !isSuspended else { return }
        try Output.write(Array(painter.paint(image).utf8), to: STDOUT_FILENO)
    }

    /// Restores the terminal.
    func leave() {
        guard !isSuspended else { return }
        try? Output.write(Array(ScreenPainter.end.utf8), to: STDOUT_FILENO)
        mode.restore()
    }

    private func enter() throws(CommandError) {
        mode.enter()
        try Output.write(Array(ScreenPainter.begin.utf8), to: STDOUT_FILENO)
    }
}

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
