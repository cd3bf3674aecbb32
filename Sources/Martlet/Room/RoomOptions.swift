import MartletLink
public import MartletWire

extension Room {
    /// The options with which a client opens a room.
    public struct Options: Sendable, Equatable {
        /// The position in the log at which delivery begins.
        public enum From: Sendable, Equatable {
            /// After the last handled message, whose cursor the outbox has stored; at the first stored message if there
            /// is no cursor.
            case stored
            /// At the first stored message.
            case start
            /// At the given number of messages before the end of the log. With 0, only new messages are delivered.
            case latest(count: Int)
            /// After the cursor; at the first stored message if the room has another log than the cursor's.
            case cursor(RoomCursor)

            /// Returns the position after an offset of the room's current log.
            ///
            /// If the relay has lost the log of the offset and the new log has reached the offset, the messages before
            /// it are skipped without a report. A `RoomCursor` with its log prevents this.
            public static func cursor(_ offset: UInt64) -> From { .cursor(RoomCursor(offset: offset)) }
        }

        /// The kind of the session, which determines its priority, window and fragment size.
        public var kind: SessionKind
        /// The position at which delivery begins.
        public var from: From
        /// Whether the messages of this device are delivered to it, too.
        public var includesOwnMessages: Bool
        /// Whether `Client.open(room:options:)` waits until the relay has opened the room.
        ///
        /// If it is false, `open` returns immediately, even without a connection, and messages can be queued. If the
        /// relay then refuses the room, the messages fail and the room is closed.
        public var waitsForRelay: Bool
        /// The maximum duration of `Client.open(room:options:)`, for a client that can be offline; nil, the default,
        /// for no limit. Then `open` throws `deadlineExceeded`, and the room is closed.
        public var timeout: Duration?

        /// Creates options. By default, delivery begins after the stored cursor and excludes the messages of this
        /// device. Without a stored cursor it begins at the first stored message.
        public init(
            kind: SessionKind = .chat, from: From = .stored, includesOwnMessages: Bool = false,
            waitsForRelay: Bool = true, timeout: Duration? = nil
        ) {
            self.kind = kind
            self.from = from
            self.includesOwnMessages = includesOwnMessages
            self.waitsForRelay = waitsForRelay
            self.timeout = timeout
        }
    }
}
