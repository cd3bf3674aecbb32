import MartletLink
import MartletWire

/// Edits and deletions of messages of others, and the erasure of deleted messages.
extension RelayRoom {
    /// Whether the roles permit an account's edit or deletion of a message. Without roles every one is permitted
    /// (R-175, Specs/hostile.md row 101).
    func permits(_ change: MessageBody, by account: AccountName, _ permissions: RoomPermissions) -> Bool {
        guard usesRoles, let roles = moderation.roles else { return true }
        switch change {
        case .edit(let target, _): return target.id.sender == account
        case .delete(let target):
            return target.id.sender == account || roles.rank(of: account, permissions) >= .moderator
        case .text, .reaction, .reply, .system, .attachment, .command, .card, .other: return true
        }
    }

    /// The erasure by a permitted deletion. Nil if its target is not in the log in front of it, or not one of the
    /// account where the relay keeps no roles.
    ///
    /// - Parameters:
    ///   - account: the account that deletes; nil for the relay itself.
    ///   - deletion: the offset of the deletion.
    private func erasure(
        by change: MessageBody?, of account: AccountName?, at deletion: UInt64
    ) -> MessageErasure? {
        guard case .delete(let target)? = change, account == nil || usesRoles || target.id.sender == account,
            case let offset = offset(of: target) ?? 0, offset < deletion
        else { return nil }
        return MessageErasure(offset: offset, id: target.id)
    }

    /// Whether the erasure by a change has room among those that are not durable.
    func mayErase(by change: MessageBody?, of account: AccountName?) -> Bool {
        let next = publication.lastOffset(durable: log.lastOffset) &+ 1
        return !publication.hasManyErasures || erasure(by: change, of: account, at: next) == nil
    }

    /// A message at an offset is a change of an account; nil for the relay itself.
    mutating func note(_ change: MessageBody, of account: AccountName?, at offset: UInt64) {
        if let erasure = erasure(by: change, of: account, at: offset) { publication.erase(erasure, by: offset) }
    }

    /// The offset of a message as the relay remembers it, or as the reference states it.
    private func offset(of target: MessageReference) -> UInt64? {
        let device = DeviceKey(account: target.id.sender, device: target.id.device)
        if let window = windows[device], case .duplicate(let offset?) = windows[window].find(target.id.counter) {
            return offset
        }
        return target.offset
    }

    /// Deletions are durable: the messages and their edits are erased in memory, in the results of reads that are in
    /// progress, and in the queues of sessions.
    mutating func eraseStored(into effects: inout Deque<RoomEffect>) {
        let erasures = publication.takeErasures(durable: log.lastOffset)
        guard !erasures.isEmpty else { return }
        log.erase(erasures)
        if isWatched { changes.note(erasures) }
        for slot in members.slots where members.isLive(slot) {
            effects.append(.erased(members[slot].key, erasures))
        }
    }
}
