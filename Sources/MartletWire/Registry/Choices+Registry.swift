// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

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

extension Receipt {
    /// How far a message got.
    public enum Mark: UInt8, CaseIterable, Sendable {
        /// On a device of its receiver's.
        case delivered = 1
        /// Before its receiver's eyes.
        case read = 2
    }
}

extension Transient {
    /// Whether a member is there.
    public enum Presence: UInt8, CaseIterable, Sendable {
        /// No longer in the room.
        case left = 0
        /// There.
        case online = 1
        /// Its link is suspended.
        case away = 2
    }
}
