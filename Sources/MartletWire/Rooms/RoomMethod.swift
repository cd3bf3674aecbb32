/// The method of a request that asks a relay for an operation on the room of the session.
public enum RoomMethod: String, CaseIterable, Sendable {
    /// Remove an account's sessions.
    case kick = "room.kick"
    /// Remove an account and refuse it.
    case ban = "room.ban"
    /// End a ban.
    case unban = "room.unban"
    /// Refuse an account's messages until an end.
    case mute = "room.mute"
    /// End a mute.
    case unmute = "room.unmute"
    /// Give an account without a role that of a member.
    case invite = "room.invite"
    /// Set or remove a role.
    case role = "room.role"
    /// Set which accounts may enter.
    case access = "room.access"
    /// Publish a message in the name of the relay.
    case announce = "room.announce"
    /// List roles, bans and mutes.
    case roles = "room.roles"

    /// The common start of all names.
    public static let prefix = "room."

    /// The name of the method.
    public var name: MethodName { MethodName(rawValue)! }

    /// The method of a name; nil for any other name.
    public init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }
}
