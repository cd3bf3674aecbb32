public import MartletWire

extension Room {
    /// The operations on the room for its moderators and owners, at a relay that keeps roles of rooms.
    public var moderation: Moderation { Moderation(room: self) }

    /// The operations on a room.
    ///
    /// Each method returns when the relay has performed the operation and made it durable. If the calling task is
    /// cancelled, the operation may have been performed.
    ///
    /// Each method throws the errors of ``Room/request(_:text:to:timeout:)``. It throws `answeredWithFailure` with the
    /// code
    ///
    /// - `forbidden` if the role of the account does not permit the operation,
    /// - `noRecipient` if the account to remove has no member in the room,
    /// - `refused` if a banned account would get a role, the room would have no owner, or as many accounts as possible
    ///   have a role, are banned or are muted,
    /// - `serverBusy` if too many operations wait,
    /// - `storeUnavailable` if the change is not saved,
    /// - `unknownMethod` if the relay keeps no roles.
    public struct Moderation: Sendable {
        let room: Room

        /// Ends the sessions of an account in the room. The account may open the room again.
        nonisolated(nonsending) public func kick(_ account: AccountName) async throws {
            try await perform(.kick(account))
        }

        /// Ends the sessions of an account in the room, and refuses further ones. The account loses its role.
        nonisolated(nonsending) public func ban(_ account: AccountName) async throws {
            try await perform(.ban(account))
        }

        /// Ends the ban of an account.
        nonisolated(nonsending) public func unban(_ account: AccountName) async throws {
            try await perform(.unban(account))
        }

        /// Refuses the messages of an account for a duration.
        ///
        /// - Parameters:
        ///   - account: The account.
        ///   - duration: The duration, which is rounded up to whole seconds, at most 136 years.
        nonisolated(nonsending) public func mute(_ account: AccountName, for duration: Duration) async throws {
            let (seconds, fraction) = duration.components
            let rounded = UInt32(clamping: fraction > 0 ? seconds + 1 : seconds)
            try await perform(.mute(account, seconds: max(rounded, 1)))
        }

        /// Ends the mute of an account.
        nonisolated(nonsending) public func unmute(_ account: AccountName) async throws {
            try await perform(.unmute(account))
        }

        /// Assigns the role of a member to an account without a role, which may then enter a room with
        /// `RoomAccess.inviteOnly`.
        nonisolated(nonsending) public func invite(_ account: AccountName) async throws {
            try await perform(.invite(account))
        }

        /// Sets the role of an account, or removes it for nil.
        nonisolated(nonsending) public func setRole(_ role: RoomRole?, of account: AccountName) async throws {
            try await perform(.setRole(role, of: account))
        }

        /// Sets which accounts may enter. The sessions of others end.
        nonisolated(nonsending) public func setAccess(_ access: RoomAccess) async throws {
            try await perform(.setAccess(access))
        }

        /// Closes the room: only its owners may enter, until one of them sets another access.
        nonisolated(nonsending) public func close() async throws {
            try await perform(.setAccess(.closed))
        }

        /// Publishes a text in the name of the relay. Only administrators may do so.
        ///
        /// - Parameter text: The text, which is not empty, of at most 16 KiB.
        nonisolated(nonsending) public func announce(_ text: String) async throws {
            try await perform(.announce(try OutgoingMessage(text: text).content))
        }

        /// The roles, bans and mutes of the room, and the role of this account, in parts of at most 64 accounts.
        ///
        /// - Parameter account: The last account of the previous part; nil for the first part.
        nonisolated(nonsending) public func roster(after account: AccountName? = nil) async throws -> RoomRoster {
            let answer = try await request(.listRoles(after: account))
            do {
                return try RoomRoster(parsing: answer.content ?? [])
            } catch {
                throw MartletError.invalidContent(causedBy: error)
            }
        }

        nonisolated(nonsending) private func perform(_ operation: RoomOperation) async throws {
            _ = try await request(operation)
        }

        nonisolated(nonsending) private func request(_ operation: RoomOperation) async throws -> Answer {
            try await room.request(operation.method.rawValue, content: operation.content)
        }
    }
}
