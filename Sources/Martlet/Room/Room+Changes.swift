public import MartletWire

/// Messages that refer to other messages. Each method queues one message, and throws the errors of
/// ``send(_:)-(OutgoingMessage)``. The target is a message, its handle, its ID or a reference.
extension Room {
    /// Sends a text in reply to a message (M-3).
    @discardableResult
    nonisolated(nonsending) public func reply(
        to target: some MessageTarget, text: String
    ) async throws -> MessageHandle {
        try await send(.reply(to: target.reference, text: text))
    }

    /// Sends a text in reply to a message (M-3).
    @discardableResult
    nonisolated(nonsending) public func reply(
        _ text: String, to target: some MessageTarget
    ) async throws -> MessageHandle {
        try await reply(to: target, text: text)
    }

    /// Sends a reaction to a message, or removes the reaction of this account (M-6).
    @discardableResult
    nonisolated(nonsending) public func react(
        _ reaction: String, to target: some MessageTarget, isRemoved: Bool = false
    ) async throws -> MessageHandle {
        try await send(.reaction(reaction, to: target.reference, isRemoved: isRemoved))
    }

    /// Sends another text for a message of this account (M-4). ``MessageHandle/edit(_:)`` changes a message before it
    /// is sent.
    @discardableResult
    nonisolated(nonsending) public func edit(
        _ target: some MessageTarget, text: String
    ) async throws -> MessageHandle {
        try await send(.edit(of: target.reference, text: text))
    }

    /// Deletes a message of this account, or of any account for a moderator (M-5).
    @discardableResult
    nonisolated(nonsending) public func delete(_ target: some MessageTarget) async throws -> MessageHandle {
        try await send(.delete(target.reference))
    }
}
