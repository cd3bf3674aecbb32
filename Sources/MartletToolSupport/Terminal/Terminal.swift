/// The terminal of a command, by file descriptor.
package enum Terminal {
    /// Returns whether the descriptor is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Whether the terminal supports sequences that move the cursor.
    package static var isCapable: Bool {
        Environment["TERM"].map { $0 != "dumb" && !$0.isEmpty } ?? false
    }

    /// Whether colors are enabled (https://no-color.org).
    package static var showsColors: Bool { showsColors(noColor: Environment["NO_COLOR"]) }

    /// Returns whether colors are enabled for a value of the variable NO_COLOR.
    package static func showsColors(noColor: String?) -> Bool { noColor?.isEmpty ?? true }

    /// Returns the size of the terminal, or 80 × 24 if it reports none.
    package static func size(of descriptor: Int32) -> ScreenSize {
        var size = winsize()
        let result = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size)
        guard result == 0, size.ws_col > 0, size.ws_row > 0 else { return .usual }
        return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }
}

/// The mode of a terminal: the saved one, raw mode, in which each key is received at once and not echoed, or one that
/// does not show the input.
package struct RawMode: Sendable {
    private let descriptor: Int32
    private let saved: termios

    /// Saves the mode of the terminal; nil if the descriptor is not a terminal.
    package init?(_ descriptor: Int32) {
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { return nil }
        self.descriptor = descriptor
        saved = settings
    }

    /// Sets raw mode.
    package func enter() {
        var settings = saved
        unsafe cfmakeraw(&settings)
        settings.c_oflag |= tcflag_t(OPOST)
        set(settings)
    }

    /// Sets the mode in which lines are edited as usual and not shown, except for their ends.
    package func hideInput() {
        var settings = saved
        settings.c_lflag &= ~tcflag_t(ECHO)
        settings.c_lflag |= tcflag_t(ECHONL)
        set(settings)
    }

    /// Restores the saved mode.
    package func restore() { set(saved) }

    private func set(_ settings: termios) {
        var settings = settings
        _ = unsafe tcsetattr(descriptor, TCSAFLUSH, &settings)
    }
}
