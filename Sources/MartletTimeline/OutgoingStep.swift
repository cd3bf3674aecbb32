package import Martlet
import MartletLink
package import MartletWire

/// A change of an outgoing message in a timeline.
package enum OutgoingStep: Sendable, Equatable {
    /// The user's intent, recorded before the outbox performs it.
    package enum Intent: Sendable, Equatable {
        /// A failed message is sent again. It is shown as pending.
        case retry
        /// A message without an acceptance is removed. It is shown as before until the outbox has removed it.
        case removal

        var state: Int64 {
            switch self {
            case .retry: TimelineSchema.retrying
            case .removal: TimelineSchema.removing
            }
        }
    }

    /// The message has no outcome.
    case add(MessageID, MessageContent)
    /// The message has an outcome. The log is that of the offset; nil for the current one.
    case settle(MessageID, OutboxOutcome.Result, log: LogID?)
    case mark(MessageID, Intent)
    case unmark(MessageID)
    /// A failed message is sent again under another ID.
    case replace(MessageID, by: MessageID, MessageContent)
    case remove(MessageID)
}

/// A message in a timeline that is not accepted.
package struct UnsettledMessage: Sendable, Equatable {
    package let id: MessageID
    /// Whether the message has failed. A change has no entry, and is removed when it fails.
    package let hasFailed: Bool
    package let intent: OutgoingStep.Intent?
}

/// Messages of a room's history, and the offsets of which it has all that the relay keeps.
package struct HistoryPart: Sendable {
    package let messages: [RoomMessage]
    package let offsets: ClosedRange<UInt64>?
    package let log: LogID?

    package init(messages: [RoomMessage], offsets: ClosedRange<UInt64>?, log: LogID?) {
        self.messages = messages
        self.offsets = offsets
        self.log = log
    }
}
