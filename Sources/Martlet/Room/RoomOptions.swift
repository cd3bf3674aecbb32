public import MartletProtocol
public import MartletWire

extension Room {
    /// How a room is opened.
    public struct Options: Sendable, Equatable {
        /// Where its messages begin.
        public enum From: Sendable, Equatable {
            /// After the last message that was handled, as the outbox has it; without one, at the first that is
            /// kept.
            case stored
            /// At the first message that is kept.
            case start
            /// So many messages before the room's end; 0 is only what is new.
            case latest(count: Int)
            /// After that place. In another log than the cursor's, at the first message that is kept.
            case cursor(RoomCursor)

            /// After that offset, of whatever log the relay has: when it began anew since the offset was kept, and has
            /// become longer again, messages are left out without a word. A cursor does not have this fault.
            public static func cursor(_ offset: UInt64) -> From { .cursor(RoomCursor(offset: offset)) }
        }

        /// The preset of priority, window and fragment size.
        public var kind: SessionKind
        /// Where its messages begin.
        public var from: From
        /// Whether this device's own messages come back to it in the room's order.
        public var echo: Bool
        /// Whether `open` waits until the relay has let us in. Otherwise it returns at once, also offline, and messages
        /// can be queued already; if the relay does not let us in, they fail and the room is closed.
        public var waitsForRelay: Bool

        /// From the stored cursor on, without the device's own messages.
        public init(
            kind: SessionKind = .chat, from: From = .stored, echo: Bool = false, waitsForRelay: Bool = true
        ) {
            self.kind = kind
            self.from = from
            self.echo = echo
            self.waitsForRelay = waitsForRelay
        }
    }
}
