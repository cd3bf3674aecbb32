import Foundation

/// The terminal a command runs on, by file descriptor.
package enum Terminal {
    /// Whether the descriptor is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Whether the terminal understands sequences that move the cursor.
    package static var isCapable: Bool {
        ProcessInfo.processInfo.environment["TERM"].map { $0 != "dumb" && !$0.isEmpty } ?? false
    }

    /// Whether colours are wanted (https://no-color.org).
    package static var showsColours: Bool { showsColours(noColour: ProcessInfo.processInfo.environment["NO_COLOR"]) }

    /// Whether colours are wanted where the variable NO_COLOR is this.
    package static func showsColours(noColour: String?) -> Bool { noColour?.isEmpty ?? true }

    /// Its size; the usual one when it does not say.
    package static func size(of descriptor: Int32) -> ScreenSize {
        var size = winsize()
        let result = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size)
        guard result == 0, size.ws_col > 0, size.ws_row > 0 else { return .usual }
        return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }
}

/// A terminal's raw mode, in which every key arrives at once and is not echoed.
package struct RawMode: Sendable {
    private let descriptor: Int32
    private let saved: termios

    /// Remembers how the terminal is; `nil` when the descriptor is none.
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

    /// Gives the terminal back as it was.
    package func restore() { set(saved) }

    private func set(_ settings: termios) {
        var settings = settings
        _ = unsafe tcsetattr(descriptor, TCSAFLUSH, &settings)
    }
}
