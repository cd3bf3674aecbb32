package import MartletWire

/// The initial values of a kind of session: its priority, its receive window and its fragment size (W-55).
package struct SessionPreset: Equatable, Sendable {
    /// The class in which the scheduler serves the session.
    package var priority: Priority
    /// The receive window, in bytes of message bodies.
    package var windowByteCount: Int
    /// The maximum number of bytes of a body in one frame.
    package var fragmentByteCount: Int

    /// Signalling precedes chat, chat precedes media, and files are last (S-51, S-60).
    package init(_ kind: SessionKind) {
        switch kind {
        case .chat: self.init(priority: .high, windowByteCount: 256 * 1024, fragmentByteCount: 16 * 1024)
        case .media: self.init(priority: .normal, windowByteCount: 512 * 1024, fragmentByteCount: 16 * 1024)
        case .signaling: self.init(priority: .urgent, windowByteCount: 64 * 1024, fragmentByteCount: 4 * 1024)
        case .account: self.init(priority: .high, windowByteCount: 256 * 1024, fragmentByteCount: 16 * 1024)
        case .attachment: self.init(priority: .low, windowByteCount: 1024 * 1024, fragmentByteCount: 16 * 1024)
        case .file: self.init(priority: .low, windowByteCount: 1024 * 1024, fragmentByteCount: 16 * 1024)
        }
    }

    /// The window of a session of this kind under negotiated limits, in bytes (W-51).
    package func windowByteCount(_ limits: Limits) -> Int { min(limits.sessionWindow, windowByteCount) }

    private init(priority: Priority, windowByteCount: Int, fragmentByteCount: Int) {
        self.priority = priority
        self.windowByteCount = windowByteCount
        self.fragmentByteCount = fragmentByteCount
    }
}
