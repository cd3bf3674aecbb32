import MartletWire

/// Edits and deletions of messages of others, and the erasure of deleted messages.
extension Room {
    /// Whether the roles permit a member's edit or deletion of a message. Without roles every one is forwarded (R-175,
    /// Specs/hostile.md row 101).
    func permits(_ change: MessageBody, by slot: Int) -> Bool {
        guard usesRoles, let roles = moderation.roles else { return true }
        let account = members[slot].who.account
        switch change {
        case .edit(let target, _): return target.id.sender == account
        case .delete(let target):
            return target.id.sender == account || roles.rank(of: account, members[slot].permissions) >= .moderator
        case .text, .reaction, .reply, .system, .attachment, .command, .other: return true
        }
    }

    /// The messages that a permitted deletion erases: its target, and the target's edits. None if the target is not in
    /// the log, or not one of the account where the relay keeps no roles.
    ///
    /// - Parameter account: the account that deletes; nil for the relay itself.
    private func erasures(by change: MessageBody?, of account: AccountName?) -> [MessageErasure] {
        guard case .delete(let target)? = change, account == nil || usesRoles || target.id.sender == account else {
            return []
        }
        let last = publication.lastOffset(durable: log.lastOffset)
        guard let offset = offset(of: target), offset >= log.firstOffset, offset <= last else { return [] }
        let known = edits.isAllocated ? edits.value.edits(of: target.id) : []
        return [MessageErasure(offset: offset, id: target.id)] + known
    }

    /// Whether the erasures of a change have room among those that are not durable.
    func mayErase(by change: MessageBody?, of account: AccountName?) -> Bool {
        !publication.hasManyErasures || erasures(by: change, of: account).isEmpty
    }

    /// A message at an offset, `id`, is a change of an account; nil for the relay itself.
    mutating func note(_ change: MessageBody, of account: AccountName?, at offset: UInt64, _ id: MessageID) {
        for erasure in erasures(by: change, of: account) { publication.erase(erasure, by: offset) }
        if case .edit(let target, _) = change, target.id.sender == id.sender {
            edits.value.note(MessageErasure(offset: offset, id: id), of: target.id)
        }
    }

    /// The offset of a message as the relay remembers it, or as the reference states it.
    private func offset(of target: MessageReference) -> UInt64? {
        let device = DeviceKey(account: target.id.sender, device: target.id.device)
        if let window = windows[device], case .duplicate(let offset?) = windows[window].find(target.id.counter) {
            return offset
        }
        return target.offset
    }

    /// Deletions are durable: the messages are erased in memory. A link without a connection whose queue may have one
    /// of them loses its session, and reads the log again.
    mutating func eraseStored(into effects: inout Deque<RoomEffect>) {
        let erasures = publication.takeErasures(durable: log.lastOffset)
        guard let first = erasures.lazy.map(\.offset).min() else { return }
        for slot in members.slots where members.isPresent(slot) && members[slot].isAway {
            guard let queued = firstQueuedOffset(slot), queued <= members[slot].cursor,
                first <= members[slot].cursor,
                erasures.contains(where: { $0.offset >= queued && $0.offset <= members[slot].cursor })
            else { continue }
            effects.append(.reset(members[slot].key, .slowConsumer))
            leave(handle(slot), into: &effects)
        }
        for erasure in erasures { log.erase(erasure) }
    }

    /// The lowest offset that a member was sent and has not acknowledged, by the bytes of the messages; nil if it has
    /// acknowledged everything.
    private func firstQueuedOffset(_ slot: Int) -> UInt64? {
        var rest = RoomMember.creditByteCount - members[slot].credit
        guard rest > 0 else { return nil }
        var offset = members[slot].cursor
        while rest > 0, let entry = log.tail[offset] {
            rest -= entry.body.byteCount
            offset -= 1
        }
        // Messages that are not in memory may be queued too.
        return rest > 0 ? 1 : offset + 1
    }
}
