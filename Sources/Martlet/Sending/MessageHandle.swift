public import MartletProtocol
public import MartletWire
import Synchronization

/// A message on its way. It costs nothing unless it is asked.
///
/// | state | means |
/// |---|---|
/// | queued | it is in the outbox |
/// | sent | it was handed to a connection; it may have to be again |
/// | accepted | the relay has it durably, at that offset of the room |
/// | delivered, read | a member's device has it, a member has read it |
/// | failed | it will not be accepted |
///
/// The latest 4096 accepted messages of a room are remembered.
public struct MessageHandle: Sendable, Identifiable {
    /// Where a message stands.
    public enum State: Sendable, Equatable {
        /// In the outbox.
        case queued
        /// Handed to a connection.
        case sent
        /// The relay has it durably, at that offset of the room.
        case accepted(offset: UInt64)
        /// A device of that member has it.
        case delivered(to: AccountName)
        /// That member has read it.
        case read(by: AccountName)
        /// It will not be accepted.
        case failed(SendFailure)
    }

    let room: RoomCore
    let counter: UInt64

    /// The message's ID, which its receivers see, too.
    public var id: MessageID { MessageID(sender: room.account, device: room.device, counter: counter) }

    /// The furthest that it got as far as is known; nil when it is forgotten.
    public var state: State? {
        room.withLedger { ObservedStates.furthest(counter, in: $0) }
    }

    /// Where it stands: first the present state, then whatever is later when it is looked at, and of each member the
    /// furthest.
    ///
    /// Ends after `failed`, when room or client are over, when the message is forgotten, and when the task is
    /// cancelled.
    public var states: States { States(room: room, counter: counter) }

    /// Waits until the relay has it; answers the offset.
    ///
    /// Cancelled, the message stays queued.
    ///
    /// - Throws: `notAccepted`; `stopped` when the client stopped first, and `gaveUp` while it does not try to connect
    ///   any more: then the outbox still has it. When it was accepted so long ago that it is forgotten, the offset is
    ///   0.
    nonisolated(nonsending) public func accepted() async throws -> UInt64 {
        while true {
            let seen = room.state.withLock { $0.look(at: counter) }
            switch seen.state {
            case nil: return 0
            case .accepted(let offset)?: return offset
            case .failed(let failure)?: throw MartletError.notAccepted(failure)
            case .queued?, .sent?: break
            }
            if let end = seen.end { throw end.error }
            if let reason = seen.gaveUp, !room.mailbox.isRetrying { throw MartletError.gaveUp(reason) }
            try Task.checkCancellation()
            await room.wait(for: .message(counter: counter, seen: seen))
        }
    }

    /// Takes the message back while it is queued; afterwards it has failed with `cancelled`.
    ///
    /// Always soon over. False when it had been handed to a connection: then only the relay decides about it.
    @discardableResult
    nonisolated(nonsending) public func cancel() async -> Bool {
        let promise = Promise<Bool>()
        guard room.mailbox.post(.cancel(room, counter: counter, promise)) == .posted else { return false }
        return (try? await promise.value()) ?? false
    }
}
