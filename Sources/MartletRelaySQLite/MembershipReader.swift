import MartletDatabase
import MartletLink
import MartletRelay
import MartletWire

/// The statements that read membership records, on one connection.
final class MembershipReader {
    /// The maximum number of rows of messages on disk that are scanned for an entry of a list, the newest first.
    static let maxCountedBatchCount = Int(RoomEntry.maxScannedCount)
    /// The maximum number of bytes of messages on disk that are scanned for an entry of a list, the newest first.
    static let maxCountedByteCount = 256 * 1024

    private let selectOfRoom: Statement
    private let selectOfAccount: Statement
    private let selectOne: Statement
    private let selectProgress: Statement
    private let selectNewest: Statement

    init(_ database: Database) throws {
        let columns = "room, account, joined, inviter, changed_at"
        selectOfRoom = try database.prepare("SELECT \(columns) FROM memberships WHERE room = ?")
        selectOfAccount = try database.prepare(
            "SELECT \(columns) FROM memberships WHERE account = ? AND room > ? ORDER BY room")
        selectOne = try database.prepare("SELECT \(columns) FROM memberships WHERE account = ? AND room = ?")
        selectProgress = try database.prepare(
            "SELECT delivered, read FROM progress WHERE room = ? AND account = ?")
        selectNewest = try database.prepare(
            "SELECT first_offset, count, messages FROM batches WHERE room = ? ORDER BY first_offset DESC")
    }

    /// The records of a room.
    func records(of room: RoomName) throws -> [AccountName: MembershipRecord] {
        selectOfRoom.bind(1, room.text)
        defer { selectOfRoom.reset() }
        var found: [AccountName: MembershipRecord] = [:]
        while try selectOfRoom.step() {
            let row = try Self.row(selectOfRoom)
            found[row.account] = row.record
        }
        return found
    }

    /// The entries of an account's rooms.
    func entries(of account: AccountName, _ read: MembershipRead, _ reader: StoreReader) throws -> [StoredRoomEntry] {
        switch read {
        case .names:
            return try records(of: account, after: nil, maxCount: MembershipBounds.maxCountPerAccount)
                .map { StoredRoomEntry(RoomEntry($0.room, $0.record)) }
        case .page(let after, let count, _):
            return try records(of: account, after: after, maxCount: count)
                .map { try entry($0.room, $0.record, account, read.progress(in: $0.room), reader) }
        case .rooms(let rooms):
            return try rooms.sorted { $0.key < $1.key }.compactMap { room, progress in
                try record(of: account, room).map { try entry(room, $0, account, progress, reader) }
            }
        }
    }

    private func records(
        of account: AccountName, after: RoomName?, maxCount: Int
    ) throws -> [(room: RoomName, account: AccountName, record: MembershipRecord)] {
        selectOfAccount.bind(1, account.text)
        selectOfAccount.bind(2, after?.text ?? "")
        defer { selectOfAccount.reset() }
        var found: [(room: RoomName, account: AccountName, record: MembershipRecord)] = []
        while found.count < maxCount, try selectOfAccount.step() {
            // A damaged row concerns its room, and not the list.
            if let row = try? Self.row(selectOfAccount) { found.append(row) }
        }
        return found
    }

    /// The record of an account in a room.
    func record(of account: AccountName, _ room: RoomName) throws -> MembershipRecord? {
        selectOne.bind(1, account.text)
        selectOne.bind(2, room.text)
        defer { selectOne.reset() }
        return try selectOne.step() ? Self.row(selectOne).record : nil
    }

    /// The columns of a statement's row.
    ///
    /// - Throws: `corrupt` for values that no store writes.
    static func row(
        _ statement: Statement
    ) throws -> (room: RoomName, account: AccountName, record: MembershipRecord) {
        let inviter = statement.optionalText(3).map { AccountName($0) }
        guard let room = RoomName(statement.text(0)), let account = AccountName(statement.text(1)),
            0...1 ~= statement.int64(2), inviter != .some(nil), let changedAt = statement.number(4)
        else { throw DatabaseError.corrupt(path: "the table of memberships") }
        let record = MembershipRecord(
            isJoined: statement.int64(2) == 1, inviter: inviter ?? nil, changedAt: changedAt)
        return (room, account, record)
    }

    private func entry(
        _ room: RoomName, _ record: MembershipRecord, _ account: AccountName, _ least: AccountProgress,
        _ reader: StoreReader
    ) throws -> StoredRoomEntry {
        do { return try loggedEntry(room, record, account, least, reader) } catch is StoreError {
            // Damage of a room concerns the room and not the list.
            return StoredRoomEntry(RoomEntry(room, record))
        }
    }

    private func loggedEntry(
        _ room: RoomName, _ record: MembershipRecord, _ account: AccountName, _ least: AccountProgress,
        _ reader: StoreReader
    ) throws -> StoredRoomEntry {
        var entry = RoomEntry(room, record)
        guard let row = try reader.row(of: room) else { return StoredRoomEntry(entry) }
        entry.log = row.log
        (entry.firstOffset, entry.lastOffset) = (row.firstOffset, row.lastOffset)
        selectProgress.bind(1, row.id)
        selectProgress.bind(2, account.text)
        defer { selectProgress.reset() }
        var progress = AccountProgress()
        if try selectProgress.step() {
            guard let stored = selectProgress.progress(from: 0, lastOffset: row.lastOffset) else {
                throw StoreError.damaged(room, offset: 0)
            }
            progress = stored
        }
        progress = progress.raised(to: least, lastOffset: row.lastOffset)
        (entry.delivered, entry.read) = (progress.delivered, progress.read)
        try addMessages(to: &entry, row, account)
        return StoredRoomEntry(entry, roles: try reader.roles(of: room))
    }

    /// Sets the last message and the number of unread ones. Damaged messages are left out, because the damage concerns
    /// the room and not the list.
    private func addMessages(to entry: inout RoomEntry, _ row: RoomRow, _ account: AccountName) throws {
        guard row.count > 0 else { return }
        selectNewest.bind(1, row.id)
        defer { selectNewest.reset() }
        var scan = RoomEntryScan(of: account, entry)
        var (batchCount, byteCount) = (0, 0)
        batches: while batchCount < Self.maxCountedBatchCount, byteCount < Self.maxCountedByteCount,
            try selectNewest.step()
        {
            let bytes = selectNewest.bytes(2)
            let first = selectNewest.uint64(0)
            guard let batch = try? StoredBatch.decode(bytes, firstOffset: first), let newest = batch.last,
                newest.offset <= row.lastOffset
            else { break }
            for message in batch.reversed() { guard scan.add(message) else { break batches } }
            (batchCount, byteCount) = (batchCount + 1, byteCount + bytes.count)
        }
        scan.finish(&entry)
    }
}
