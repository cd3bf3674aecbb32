import MartletLink
public import MartletWire

/// Commands of the application to rooms.
///
/// A room need not be in memory. The cancellation of the calling task does not stop a command.
extension Relay {
    /// Publishes a message in a room in the name of the relay, and returns when the message is durable.
    ///
    /// The sender is `RoomRolesConfiguration.serverAccount` if the relay keeps roles, and otherwise
    /// `RelayConfiguration.serverAccount`.
    ///
    /// - Parameters:
    ///   - content: The content, of at most 16,384 bytes.
    ///   - room: The room.
    /// - Returns: The position of the message in the room's log.
    /// - Throws: `notRunning`; `noServerAccount`; `messageTooLarge`; `roomNotCreated` if the relay keeps roles and no
    ///   account has created the room; `busy` if too much work is pending; `storeUnavailable`.
    @discardableResult
    public func publish(
        _ content: MessageContent, in room: RoomName
    ) async throws(RoomCommandError) -> RoomCursor {
        guard case .published(let cursor) = try await perform(.publish(content), in: room) else {
            return RoomCursor(offset: 0)
        }
        return cursor
    }

    /// Removes an account from a room: its sessions there are reset with `kicked`, and it loses its membership
    /// record and, if the relay keeps roles, its role. The account may enter again if the room is open to accounts
    /// without a role and the room policy permits it.
    ///
    /// - Throws: `notRunning`; `roomNotCreated`; `busy`; `refused`; `storeUnavailable`, in which case the sessions may
    ///   have ended.
    public func remove(_ account: AccountName, from room: RoomName) async throws(RoomCommandError) {
        try await perform(.remove(account), in: room)
    }

    /// Closes a room. With roles its access is `closed`, and the sessions of accounts that may not enter any
    /// more are reset with `roomForbidden`. Without roles all sessions are reset with `kicked`; an account may open the
    /// room again, unless the room policy refuses it.
    ///
    /// - Throws: `notRunning`; `roomNotCreated`; `busy`; `refused`; `storeUnavailable`.
    public func close(room: RoomName) async throws(RoomCommandError) {
        try await perform(.close, in: room)
    }

    /// Whether a delete by the account, once stored, erases messages of others.
    package func erasesOthers(_ account: AccountName) -> Bool {
        let engine = parts.configuration.engine
        return engine.roomRoles != nil || account == engine.reservedAccount
    }

    /// Performs a command, and returns when it is durable.
    @discardableResult
    func perform(_ command: RoomCommand, in room: RoomName) async throws(RoomCommandError) -> RoomCommandValue {
        guard let driver = driver(of: room) else { throw .notRunning }
        let result = await withCheckedContinuation { continuation in
            driver.loop.execute { driver.perform(command, in: room, continuation) }
        }
        return try result.get()
    }
}
