import MartletLink
package import MartletRelay
package import MartletWire

/// The membership records of a virtual relay's store.
extension VirtualRelay {
    /// Makes changes of records durable.
    @discardableResult
    func store(_ changes: MembershipChanges, of room: RoomName) -> Set<AccountName> {
        let refused = checked { try $0.saveMemberships(changes, of: room) } ?? []
        for (account, record) in changes where !refused.contains(account) {
            memberships[room, default: [:]][account] = record
        }
        if memberships[room]?.isEmpty == true { memberships[room] = nil }
        return refused
    }

    /// The entries of an account's rooms.
    package func entries(of account: AccountName, _ read: MembershipRead) -> [StoredRoomEntry] {
        let rooms: [RoomName]
        switch read {
        case .names: rooms = Array(memberships.keys)
        case .page(let after, _, _): rooms = memberships.keys.filter { room in after.map { $0 < room } ?? true }
        case .rooms(let wanted): rooms = Array(wanted.keys)
        }
        let found = rooms.sorted().compactMap { room in
            memberships[room]?[account].map { record in
                StoredRoomEntry(
                    entry(of: room, record, account, read), roles: read != .names && hasLog(room) ? roles[room] : nil)
            }
        }
        if let answer = checked({ try $0.memberships(of: account, read) }) {
            let count = if case .page(_, let count, _) = read { count } else { Int.max }
            precondition(read == .names || answer == Array(found.prefix(count)), "the store has other entries")
        }
        guard case .page(_, let count, _) = read else { return found }
        return Array(found.prefix(count))
    }

    private func entry(
        of room: RoomName, _ record: MembershipRecord, _ account: AccountName, _ read: MembershipRead
    ) -> RoomEntry {
        var entry = RoomEntry(room, record)
        guard hasLog(room) else { return entry }
        entry.log = logID(room)
        let messages = log[room] ?? []
        entry.lastOffset = messages.last?.offset ?? 0
        let progress = savedProgress(of: account, in: room)
            .raised(to: read.progress(in: room), lastOffset: entry.lastOffset)
        (entry.delivered, entry.read) = (progress.delivered, progress.read)
        entry.firstOffset = first(room)
        var scan = RoomEntryScan(of: account, entry)
        for message in messages.reversed() { guard scan.add(message) else { break } }
        scan.finish(&entry)
        return entry
    }
}
