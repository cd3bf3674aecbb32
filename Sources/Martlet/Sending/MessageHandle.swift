import MartletLink
import MartletTransport
public import MartletWire
import Synchronization

/// A handle with which an application observes, edits or cancels a message that it has sent.
///
/// | state | meaning |
/// |---|---|
/// | queued | the outbox has stored the message |
/// | sent | the message was written to a connection; it may be sent again on another connection |
/// | accepted | the relay has stored the message durably, at an offset of the room |
/// | delivered, read | a device of a member has received the message, a member has read it |
/// | failed | the message will not be accepted |
///
/// A room retains the states of its latest 4096 accepted messages. The handle of an older message has no state. An
/// unused handle costs no work.
public struct MessageHandle: MessageTarget, Sendable, Identifiable {
    /// The state of a message.
    public enum State: Sendable, Equatable {
        /// The outbox has stored the message.
        case queued
        /// The message was written to a connection.
        case sent
        /// The relay has stored the message durably, at this offset of the room.
        case accepted(offset: UInt64)
        /// A device of this account has received the message.
        case delivered(to: AccountName)
        /// This account has read the message.
        case read(by: AccountName)
        /// The message will not be accepted.
        case failed(SendFailure)
    }

    let room: RoomCore
    let counter: UInt64

    /// The ID of the message, which its receivers see, too. It changes if the device takes another ID before the
    /// message has an outcome (``Room/Event/deviceReplaced(former:current:)``).
    public var id: MessageID { room.messageID(counter) }

    /// A reference to the message, with its offset if the room retains it.
    public var reference: MessageReference {
        guard case .accepted(let offset)? = room.messageState(of: counter) else { return id.reference }
        return MessageReference(id, offset: offset)
    }

    /// The most advanced state that the message has reached; nil if the room no longer retains its state.
    public var state: State? {
        room.state.withLock { ObservedStates.furthest(counter, in: $0.messages) }
    }

    /// The content of the message; nil if the message has an outcome.
    public var content: MessageContent? { room.state.withLock { $0.messages.content(of: counter) } }

    /// The current state of the message, followed by later states.
    ///
    /// The sequence omits states that are superseded before they are read, and *delivered* of an account that has read
    /// the message. It ends after `failed`, when the room or the client ends, when the room no longer retains the
    /// state, and when the task is cancelled.
    public var states: States { States(room: room, counter: counter) }

    /// Waits until the relay has accepted the message.
    ///
    /// If the calling task is cancelled, the message remains queued.
    ///
    /// - Returns: The offset of the message in the room; 0 if the room no longer retains the state of the message.
    /// - Throws: `notAccepted` if the message has failed; `roomClosed` or `stopped` if the room or the client ends
    ///   first; `gaveUp` while the client has stopped retrying. After `stopped` and `gaveUp`, the outbox still contains
    ///   the message.
    @discardableResult
    nonisolated(nonsending) public func accepted() async throws -> UInt64 {
        while true {
            let seen = room.state.withLock { $0.snapshot(of: counter) }
            switch seen.state {
            case nil: return 0
            case .accepted(let offset)?: return offset
            case .failed(let failure)?: throw MartletError.notAccepted(failure)
            case .queued?, .sent?: break
            }
            if let end = seen.end { throw end.error(of: room.name) }
            if let reason = seen.stopReason, !room.mailbox.isRetrying { throw MartletError.gaveUp(reason) }
            try Task.checkCancellation()
            await room.wait(for: .message(counter: counter, seen: seen))
        }
    }

    /// Cancels the message if it is queued. The message then fails with `cancelled`.
    ///
    /// The method does not wait for the network.
    ///
    /// - Returns: Whether the message was cancelled. It is false if the message was already written to a connection;
    ///   the relay then decides whether it is accepted.
    @discardableResult
    nonisolated(nonsending) public func cancel() async -> Bool {
        let promise = Promise<Bool>()
        guard room.mailbox.post(.cancel(room, counter: counter, promise)) == .posted else { return false }
        return (try? await promise.value()) ?? false
    }

    /// Replaces the content of the message if it is queued. Its ID, place and time to live remain.
    ///
    /// The method returns when the outbox has stored the new content. It does not wait for the network.
    ///
    /// - Parameter content: The new content.
    /// - Returns: Whether the content was replaced. It is false if the message was already written to a connection or
    ///   has an outcome, and if the client is stopped.
    /// - Throws: `messageTooLarge`; `outboxFull`, `outboxFailed`, after which the message has its earlier content;
    ///   `stopped` if the client stops first.
    @discardableResult
    nonisolated(nonsending) public func edit(_ content: MessageContent) async throws -> Bool {
        guard content.byteCount <= room.maxContentByteCount else {
            throw MartletError.messageTooLarge(byteCount: content.byteCount, limit: room.maxContentByteCount)
        }
        let promise = Promise<Bool>()
        guard room.mailbox.post(.edit(room, counter: counter, content, promise)) == .posted else { return false }
        return try await promise.value()
    }
}
