import MartletLink
public import MartletWire

extension Room {
    /// The presence of an account in a room.
    public enum Presence: Sendable, Equatable {
        /// The account has no member in the room.
        case left
        /// A link of a member has a connection.
        case online
        /// The account has members, but none of their links has a connection.
        case away
    }

    /// An event of a room other than a message.
    public enum Event: Sendable, Equatable {
        /// The relay has opened the room: for the first time, or on a new session. The offsets are those of the oldest
        /// stored message and of the newest message.
        case opened(firstOffset: UInt64, lastOffset: UInt64)
        /// The relay has lost messages of the log that was read up to `previous`. Delivery continues after `current`.
        /// ``RoomItem/logReplaced(previous:current:)`` marks the same event among the messages.
        case logReplaced(previous: RoomCursor, current: RoomCursor)
        /// The presence of an account has changed.
        case presence(AccountName, Presence)
        /// An account has started or stopped typing. An account counts as typing until it reports the end, is not
        /// online, or has not repeated its report for 10 s.
        case typing(AccountName, Bool)
        /// A device of the account has received all messages up to the offset.
        case delivered(to: AccountName, upTo: UInt64)
        /// The account has read all messages up to the offset. The account is the client's own if the messages were
        /// read on another of its devices.
        case read(by: AccountName, upTo: UInt64)
        /// The messages at these offsets will not be delivered.
        case gap(ClosedRange<UInt64>)
        /// An account has sent a transient frame by ``Room/sendTransient(kind:content:)``.
        case transient(AccountName, ContentKind, [UInt8])
        /// The device has another ID, because its outbox is a restored or copied file, or an earlier state of it
        /// (C-103). The messages without an outcome have IDs with the current device from now on, and are sent again.
        case deviceReplaced(former: DeviceID, current: DeviceID)
        /// The relay currently cannot serve the room, for the reason of the code. Unaccepted messages and uploads wait,
        /// and the client tries again. `storeUnavailable` means that the relay cannot store them, for example because
        /// its disk is full.
        case delayed(ErrorCode)
        /// The given number of events was discarded because the iteration was too slow.
        case missed(Int)
    }
}
