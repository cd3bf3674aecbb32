public import MartletProtocol
public import MartletWire

extension Room {
    /// Whether a member is there.
    public enum Presence: Sendable, Equatable {
        /// Left the room.
        case left
        /// There.
        case online
        /// A member without a connection, for now.
        case away
    }

    /// What happens in a room beside its messages.
    public enum Event: Sendable, Equatable {
        /// The relay has opened the room, again after each new link: the offsets of the oldest message that it keeps
        /// and of the newest.
        case opened(firstOffset: UInt64, lastOffset: UInt64)
        /// The relay has lost what was seen of the room up to `previous`; delivery goes on after `current`. See
        /// ``RoomItem/logReplaced(previous:current:)``, which comes in its place among the messages.
        case logReplaced(previous: RoomCursor, current: RoomCursor)
        /// A member came, went, or lost its connection.
        case presence(AccountName, Presence)
        /// A member types, or no longer: it said so, is not online any more, or has not repeated it for 10 s.
        case typing(AccountName, Bool)
        /// A member's device has all messages up to the offset.
        case delivered(to: AccountName, upTo: UInt64)
        /// A member has read all messages up to the offset; the account's own name when that was on another of its
        /// devices.
        case read(by: AccountName, upTo: UInt64)
        /// These messages will not come.
        case gap(ClosedRange<UInt64>)
        /// What a member said with `sendTransient`.
        case transient(AccountName, ContentKind, [UInt8])
        /// So many events were dropped, because they were not taken in time.
        case missed(Int)
    }
}
