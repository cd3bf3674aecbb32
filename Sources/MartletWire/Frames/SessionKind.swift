/// A preset of priority, window and fragment size for a session.
public enum SessionKind: UInt8, CaseIterable, Sendable {
    /// Conversation.
    case chat = 0
    /// Sound and film.
    case media = 1
    /// Set-up of calls and the like.
    case signaling = 2
    /// Files.
    case file = 3
}

extension TLVView {
    func sessionKind() throws(WireError) -> SessionKind {
        guard let kind = SessionKind(rawValue: try uint8()) else { throw .invalidValue(tag) }  // S-51
        return kind
    }
}
