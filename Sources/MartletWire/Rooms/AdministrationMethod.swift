/// The methods of requests for the administration of a relay, on an account's own session.
package enum AdministrationMethod: String, CaseIterable, Sendable {
    /// The state of the relay.
    case status = "admin.status"
    /// A page of links.
    case links = "admin.links"
    /// A page of accounts with links.
    case accounts = "admin.accounts"
    /// A page of rooms.
    case rooms = "admin.rooms"
    /// The state of a room.
    case room = "admin.room"
    /// Remove an account from a room, or end its links.
    case kick = "admin.kick"
    /// Remove an account from a room and refuse it there.
    case ban = "admin.ban"
    /// End a ban.
    case unban = "admin.unban"
    /// Refuse an account's messages in a room.
    case mute = "admin.mute"
    /// End a mute.
    case unmute = "admin.unmute"
    /// End the links of an account.
    case revoke = "admin.revoke"
    /// Publish a text in the name of the relay, in a room or in all rooms in memory.
    case announce = "admin.announce"
    /// Drain the relay, or one of the same store by its name.
    case drain = "admin.drain"
    /// The relays of the store.
    case relays = "admin.relays"
    /// Replace a room's own bounds of retention.
    case retention = "admin.retention"
    /// Erase the messages of an account in a room or in all rooms.
    case erase = "admin.erase"
    /// A page of a room's messages.
    case export = "admin.export"

    /// The common start of all names. Requests for other methods with this start are for the relay too.
    package static let prefix = "admin."
    /// The maximum number of messages of an account that a step of an erasure erases.
    package static let maxErasureCount = 32

    /// The method with a name; nil for another name.
    package init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }

    /// Whether a method belongs to the administration of the relay.
    package static func includes(_ name: MethodName) -> Bool {
        name.text.utf8.starts(with: prefix.utf8)
    }
}

extension AdministrationQuery {
    /// The query at another place, with another limit.
    package func at(next: UInt64?, nextRoom: RoomName?, limit: UInt16?) -> AdministrationQuery {
        AdministrationQuery(
            room: room, account: account, duration: duration, text: text, maxAge: maxAge, maxCount: maxCount,
            maxByteCount: maxByteCount, next: next, nextRoom: nextRoom, limit: limit, name: name)
    }
}

extension RoomName {
    /// The room in which the permission to administer is that for the whole relay.
    public static let administration: RoomName = "martlet.administration"
}
