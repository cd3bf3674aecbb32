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
