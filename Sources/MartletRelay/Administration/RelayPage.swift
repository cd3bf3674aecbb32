public import MartletWire

/// A place at which a list of a relay's objects, or a series of steps, continues.
public struct RelayPlace: Hashable, Sendable {
    /// The value, which has a meaning for the relay only.
    public let rawValue: UInt64
    /// The room behind which, or in which, the list or the series continues; nil if it has no rooms.
    public let room: RoomName?

    /// Creates the place of a value.
    public init(rawValue: UInt64, room: RoomName? = nil) {
        self.rawValue = rawValue
        self.room = room
    }

    /// A place in the table of a loop.
    init(loop: Int, slot: Int) {
        self.init(rawValue: UInt64(loop) << 32 | UInt64(slot))
    }

    var loop: Int { Int(rawValue >> 32) }
    var slot: Int { Int(rawValue & 0xFFFF_FFFF) }
}

/// A page of a list of a relay's objects.
public struct RelayPage<Item: Sendable>: Sendable {
    /// The items, at most 32. A page may have none although a further page follows.
    public let items: [Item]
    /// The place of the next page; nil after the last one.
    public let next: RelayPlace?
}

/// A step of a work on many rooms or messages.
public struct RelayStep: Equatable, Sendable {
    /// The number of rooms or messages that the step has changed.
    public let count: Int
    /// The place of the next step; nil after the last one.
    public let next: RelayPlace?
}
