import Foundation
import MartletToolSupport

/// The whole screen of a terminal in raw mode, and the way out of it: at the end, and while the process is suspended.
///
/// | state | ends with |
/// |---|---|
/// | entered: raw mode, the other screen | `suspend()`, `leave()` |
/// | suspended: the terminal is as before | `resume()`, when the process has been continued |
struct FullScreen {
    private let mode: RawMode
    private var painter: ScreenPainter
    private var isSuspended = false

    /// Takes over the terminal on standard input and output; `nil` when there is none.
    init?(showsColours: Bool) throws(CommandError) {
        guard let mode = RawMode(STDIN_FILENO) else { return nil }
        self.mode = mode
        painter = ScreenPainter(showsColours: showsColours)
        try enter()
    }

    /// Whether the process can be suspended: without job control it could not be continued.
    static var hasJobControl: Bool { getpgrp() != getsid(0) }

    /// Gives the terminal back and stops the process group, as the terminal's suspend key does. The process goes on
    /// with `resume()` when it is told SIGCONT; a few instructions may pass before it stops.
    mutating func suspend() {
        guard !isSuspended, Self.hasJobControl else { return }
        leave()
        isSuspended = true
        kill(0, SIGSTOP)
    }

    /// The process was continued: takes the terminal over again, whatever has been done to it meanwhile.
    mutating func resume() throws(CommandError) {
        isSuspended = false
        painter.forget()
        try enter()
    }

    /// The terminal has another size.
    mutating func resized() { painter.forget() }

    mutating func paint(_ image: ScreenImage) throws(CommandError) {
        guard !isSuspended else { return }
        try Output.write(Array(painter.paint(image).utf8), to: STDOUT_FILENO)
    }

    /// Gives the terminal back as it was.
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
