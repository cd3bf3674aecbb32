import MartletTransport
public import MartletWire

/// The messages of the outbox.
extension Room {
    /// Handles of all messages of this device without an outcome, in the order in which they are sent. They include the
    /// messages of earlier clients with the same outbox.
    public var pending: [MessageHandle] {
        core.state.withLock { $0.messages.pendingCounters }.map { MessageHandle(room: core, counter: $0) }
    }

    /// Returns the handle of a message that this device has sent, by this client or an earlier one.
    ///
    /// - Parameter id: The ID of the message.
    /// - Returns: The handle; nil if neither the room nor the outbox retains the state of the message.
    public func message(_ id: MessageID) -> MessageHandle? {
        let handle = MessageHandle(room: core, counter: id.counter)
        return handle.id == id && handle.state != nil ? handle : nil
    }

    /// The messages of this device that have failed with another reason than `cancelled`, in ascending order of their
    /// counters, until they are retried or discarded, or received from the log of the room
    /// (``Room/Options/includesOwnMessages``). The outbox bounds their number.
    ///
    /// - Throws: `outboxFailed`, `stopped`.
    nonisolated(nonsending) public func deadLetters() async throws -> [DeadLetter] {
        let promise = Promise<[DeadLetter]>()
        guard core.mailbox.post(.deadLetters(core, promise)) == .posted else { throw MartletError.stopped }
        let letters = try await promise.value()
        return core.state.withLock { state in letters.filter { !state.letters.contains($0.id) } }
    }

    /// Queues a dead letter as a new message with a new ID, behind all others. One transaction of the outbox stores the
    /// message and removes the dead letter (C-77).
    ///
    /// - Returns: The handle of the new message; nil if the dead letter was retried or discarded before, or if the log
    ///   has its message.
    /// - Throws: The errors of ``send(_:)-(OutgoingMessage)``. The dead letter then remains.
    @discardableResult
    nonisolated(nonsending) public func retry(_ letter: DeadLetter) async throws -> MessageHandle? {
        try await core.retry(letter)
    }

    /// Retries a dead letter like ``retry(_:)``, and calls `whenQueued` when the message has its place, before the
    /// method suspends.
    nonisolated(nonsending) package func retry(
        _ letter: DeadLetter, whenQueued: () -> Void
    ) async throws -> MessageHandle? {
        try await core.retry(letter, whenQueued: whenQueued)
    }

    /// Sends a message like ``send(_:)-(OutgoingMessage)``, and calls `whenQueued` when the message has its place,
    /// before the method suspends.
    nonisolated(nonsending) package func send(
        _ message: OutgoingMessage, whenQueued: () -> Void
    ) async throws -> MessageHandle {
        try await core.send(message, whenQueued: whenQueued)
    }

    /// Removes a dead letter. A letter that was retried or discarded before is ignored.
    ///
    /// - Throws: `outboxFailed`, `stopped`. The dead letter then remains.
    nonisolated(nonsending) public func discard(_ letter: DeadLetter) async throws {
        guard core.state.withLock({ $0.letters.claim(letter.id) }) else { return }
        let promise = Promise<Void>()
        do {
            guard core.mailbox.post(.discard(letter.id, promise)) == .posted else { throw MartletError.stopped }
            try await promise.value()
        } catch {
            core.unclaim([letter.id])
            throw error
        }
    }
}
