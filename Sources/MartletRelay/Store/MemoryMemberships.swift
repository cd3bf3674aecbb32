import MartletLink
import MartletWire

/// The membership records of all rooms in memory, by account and by room.
struct MemoryMemberships {
    private var records: [AccountName: [RoomName: MembershipRecord]] = [:]
    private var accounts: [RoomName: Set<AccountName>] = [:]
    /// The number of records of all rooms.
    private var count = 0

    /// The records of a room.
    subscript(room: RoomName) -> [AccountName: MembershipRecord] {
        var found: [AccountName: MembershipRecord] = [:]
        for account in accounts[room] ?? [] { found[account] = records[account]?[room] }
        return found
    }

    /// Saves changes of a room's records, in the order of the accounts. Returns the accounts whose new records exceed
    /// the maximum for their account, or `maxCount` in all.
    mutating func save(_ changes: MembershipChanges, of room: RoomName, maxCount: Int) -> Set<AccountName> {
        var refused: Set<AccountName> = []
        for (account, record) in changes.sorted(by: { $0.key < $1.key }) {
            guard let record else {
                remove(account, from: room)
                continue
            }
            let isNew = records[account]?[room] == nil
            let hasRoom =
                count < maxCount && records[account]?.count ?? 0 < MembershipBounds.maxCount(with: record)
            guard !isNew || hasRoom else {
                refused.insert(account)
                continue
            }
            if isNew { count += 1 }
            records[account, default: [:]][room] = record
            accounts[room, default: []].insert(account)
        }
        return refused
    }

    private mutating func remove(_ account: AccountName, from room: RoomName) {
        guard records[account]?.removeValue(forKey: room) != nil else { return }
        count -= 1
        if records[account]?.isEmpty == true { records[account] = nil }
        accounts[room]?.remove(account)
        if accounts[room]?.isEmpty == true { accounts[room] = nil }
    }

    /// The records of an account that a read concerns, in the order of the names' bytes, with the least progress.
    func records(
        of account: AccountName, _ read: MembershipRead
    ) -> [(room: RoomName, record: MembershipRecord, progress: AccountProgress)] {
        let all = records[account] ?? [:]
        var rooms: [RoomName]
        switch read {
        case .names: rooms = Array(all.keys)
        case .page(let after, _, _): rooms = all.keys.filter { room in after.map { $0 < room } ?? true }
        case .rooms(let wanted): rooms = Array(wanted.keys)
        }
        rooms.sort()
        if case .page(_, let count, _) = read { rooms = Array(rooms.prefix(count)) }
        return rooms.compactMap { room in
            guard let record = all[room] else { return nil }
            return (room, record, read.progress(in: room))
        }
    }
}
