package import MartletDatabase
import MartletLink
package import MartletRelay
package import MartletWire

/// A room's row in the table `rooms`.
struct RoomRow {
    /// The bound of the bytes of a room or a batch, which their sums do not overflow.
    static let byteCountBound: Int64 = 1 << 48

    var id: Int64
    var log: LogID
    var firstOffset: UInt64
    var lastOffset: UInt64
    /// Bytes of the bodies.
    var byteCount: Int
    /// The time of the last use, in milliseconds since 1970.
    var usedAt: UInt64
    /// The room's own bounds.
    var retention: RoomRetention

    /// Creates a row; nil if its values cannot be those of a room.
    init?(
        id: Int64, log: UInt64, firstOffset: UInt64, lastOffset: UInt64, byteCount: Int64, usedAt: UInt64,
        retention: RoomRetention? = RoomRetention()
    ) {
        guard let retention, firstOffset >= 1, lastOffset < UInt64(Int64.max), firstOffset <= lastOffset + 1,
            0..<Self.byteCountBound ~= byteCount,
            usedAt < UInt64(Int64.max)
        else { return nil }
        self.id = id
        self.log = LogID(rawValue: log)
        self.firstOffset = firstOffset
        self.lastOffset = lastOffset
        self.byteCount = Int(byteCount)
        self.usedAt = usedAt
        self.retention = retention
    }

    /// Messages that are kept.
    var count: UInt64 { lastOffset + 1 - firstOffset }
}

/// The statements that read rooms, on one connection.
package final class StoreReader: DatabaseContext {
    /// The maximum number of devices in a snapshot of a room.
    private static let maxDeviceCount = 262_144
    /// The maximum number of accounts with progress in a snapshot of a room.
    static let maxProgressCount = 4096

    package let database: Database
    private let selectRoom: Statement
    private let selectDevices: Statement
    private let selectProgress: Statement
    private let selectBatches: Statement
    private let selectNewest: Statement
    private let selectRooms: Statement
    /// False for a file that is older than bounds of rooms.
    private let hasRetention: Bool
    private let selectRoles: Statement
    /// Nil for a file that is older than branches.
    private let selectBranches: Statement?
    /// Nil for a file that is older than membership records.
    let memberships: MembershipReader?

    package init(_ database: Database) throws {
        self.database = database
        hasRetention = try database.schemaVersion() >= StoreSchema.retentionVersion
        let (bounds, table) =
            hasRetention ? (", \(RoomRetention.columns)", RoomRetention.join) : ("", "")
        selectRoom = try database.prepare(
            """
            SELECT id, log, first_offset, last_offset, byte_count, used_at\(bounds) FROM rooms \(table)
            WHERE name = ?
            """)
        selectRooms = try database.prepare(
            """
            SELECT name, log, first_offset, last_offset,
                EXISTS (SELECT 1 FROM devices WHERE room = rooms.id AND account = ?2)
            FROM rooms WHERE name > ?1 ORDER BY name LIMIT \(RoomListRead.maxVisitedCount + 1)
            """)
        selectDevices = try database.prepare(
            """
            SELECT account, device, \(try DeviceRecord.columns(in: database)) FROM devices WHERE room = ?
            ORDER BY used_at DESC LIMIT \(Self.maxDeviceCount)
            """)
        selectProgress = try database.prepare(
            """
            SELECT account, delivered, read FROM progress WHERE room = ?
            ORDER BY delivered DESC LIMIT \(Self.maxProgressCount)
            """)
        selectRoles = try database.prepare("SELECT roles FROM roles WHERE \(StoreSchema.rolesOfRoom)")
        let hasMemberships = try database.schemaVersion() >= StoreSchema.membershipVersion
        selectBranches =
            try database.schemaVersion() >= StoreSchema.branchVersion
            ? database.prepare("SELECT log, last_offset FROM branches WHERE room = ?") : nil
        memberships = hasMemberships ? try MembershipReader(database) : nil
        selectNewest = try database.prepare(
            "SELECT first_offset, count FROM batches WHERE room = ?1 ORDER BY first_offset DESC LIMIT 1")
        selectBatches = try database.prepare(
            """
            SELECT first_offset, count, messages FROM batches WHERE room = ?1 AND first_offset >=
                coalesce((SELECT max(first_offset) FROM batches WHERE room = ?1 AND first_offset <= ?2), 0)
            ORDER BY first_offset
            """)
    }

    /// A room's row; nil for a room that the store does not have.
    func row(of room: RoomName) throws -> RoomRow? {
        selectRoom.bind(1, room.text)
        defer { selectRoom.reset() }
        guard try selectRoom.step() else { return nil }
        guard
            let row = RoomRow(
                id: selectRoom.int64(0), log: selectRoom.uint64(1), firstOffset: selectRoom.uint64(2),
                lastOffset: selectRoom.uint64(3), byteCount: selectRoom.int64(4), usedAt: selectRoom.uint64(5),
                retention: hasRetention ? RoomRetention(selectRoom, from: 6) : RoomRetention())
        else { throw StoreError.damaged(room, offset: 0) }
        return row
    }

    /// The next rooms in the order of their names.
    func rooms(_ read: RoomListRead) throws -> StoredRoomPage {
        selectRooms.bind(1, read.after?.text ?? "")
        selectRooms.bind(2, read.publisher?.text ?? "")
        defer { selectRooms.reset() }
        var page = StoredRoomPage()
        var visitedCount = 0
        while try selectRooms.step() {
            guard visitedCount < RoomListRead.maxVisitedCount, page.rooms.count < read.limit else { return page }
            visitedCount += 1
            // A damaged row stays for `martlet store check`.
            guard let name = RoomName(selectRooms.text(0)) else { continue }
            page.next = name
            guard read.publisher == nil || selectRooms.int64(4) == 1 else { continue }
            page.rooms.append(
                StoredRoomPage.Room(
                    name: name, log: LogID(rawValue: selectRooms.uint64(1)), lastOffset: selectRooms.uint64(3),
                    firstOffset: selectRooms.uint64(2)))
        }
        page.next = nil
        return page
    }

    /// A room's snapshot and the time of its last use; nil for a room that the store does not have.
    package func load(_ room: RoomName) throws -> (snapshot: RoomSnapshot, usedAt: UInt64)? {
        guard let row = try row(of: room) else { return nil }
        try checkEnd(of: row, room)
        var snapshot = RoomSnapshot(log: row.log, lastOffset: row.lastOffset, firstOffset: row.firstOffset)
        selectDevices.bind(1, row.id)
        defer { selectDevices.reset() }
        while try selectDevices.step() {
            guard let account = AccountName(selectDevices.text(0)), let record = DeviceRecord(selectDevices, from: 2)
            else {
                throw StoreError.damaged(room, offset: 0)
            }
            snapshot.devices[DeviceKey(account: account, device: DeviceID(rawValue: selectDevices.uint64(1)))] = record
        }
        selectProgress.bind(1, row.id)
        defer { selectProgress.reset() }
        while try selectProgress.step() {
            guard let account = AccountName(selectProgress.text(0)),
                let progress = selectProgress.progress(from: 1, lastOffset: row.lastOffset)
            else { throw StoreError.damaged(room, offset: 0) }
            snapshot.progress[account] = progress
        }
        snapshot.retention = row.retention
        snapshot.branches = try branches(of: row, room)
        snapshot.roles = try roles(of: room)
        snapshot.memberships = try memberships?.records(of: room) ?? [:]
        return (snapshot, row.usedAt)
    }

    /// The branches of a room: earlier logs, and the highest offset of each that this log has too.
    func branches(of row: RoomRow, _ room: RoomName) throws -> [LogID: UInt64] {
        guard let selectBranches else { return [:] }
        selectBranches.bind(1, row.id)
        defer { selectBranches.reset() }
        var found: [LogID: UInt64] = [:]
        while try selectBranches.step() {
            guard selectBranches.uint64(1) <= row.lastOffset else { throw StoreError.damaged(room, offset: 0) }
            found[LogID(rawValue: selectBranches.uint64(0))] = selectBranches.uint64(1)
        }
        return found
    }

    /// The roles of a room in their stored form; nil if it has none.
    func roles(of room: RoomName) throws -> [UInt8]? {
        selectRoles.bind(1, room.text)
        defer { selectRoles.reset() }
        return try selectRoles.step() ? selectRoles.bytes(0) : nil
    }

    /// Whether a room has roles, or had roles that were lost.
    func hasRoles() throws -> Bool {
        let select = try database.prepare("SELECT 1 FROM roles WHERE room <> ? LIMIT 1")
        select.bind(1, StoreSchema.unknownRolesKey)
        return try select.firstInt64() != nil
    }

    /// Checks that the newest batch ends where the room does. Otherwise offsets would be assigned again.
    private func checkEnd(of row: RoomRow, _ room: RoomName) throws {
        guard row.count > 0 else { return }
        selectNewest.bind(1, row.id)
        defer { selectNewest.reset() }
        guard try selectNewest.step(), case let (first, count) = (selectNewest.uint64(0), selectNewest.uint64(1)),
            first <= row.lastOffset, row.lastOffset - first + 1 == count
        else { throw StoreError.damaged(room, offset: row.lastOffset) }
    }

    /// The kept messages of a range.
    package func read(_ range: ReadRange, of room: RoomName) throws -> RoomHistory {
        guard let row = try row(of: room) else { return RoomHistory(entries: [], firstOffset: 1) }
        var selected = StoredRange(range, firstOffset: row.firstOffset, lastOffset: row.lastOffset)
        guard !selected.isComplete else { return selected.history }
        selectBatches.bind(1, row.id)
        selectBatches.bind(2, selected.next)
        defer { selectBatches.reset() }
        while !selected.isComplete {
            guard try selectBatches.step(),
                selected.add(
                    firstOffset: selectBatches.uint64(0), count: selectBatches.int64(1), selectBatches.bytes(2))
            else { throw StoreError.damaged(room, offset: selected.next) }
        }
        return selected.history
    }
}

extension RoomRetention {
    /// The columns of a room's own bounds, and the join by which a room has them.
    static let columns = "max_age, max_count, max_byte_count"
    static let join = "LEFT JOIN retention ON retention.room = rooms.name"

    /// Reads the columns; nil if a bound is not valid.
    init?(_ row: borrowing Statement, from column: Int32) {
        var bounds: [UInt64?] = []
        for index in column..<column + 3 {
            let number = row.optionalInt64(index)
            guard number.map({ $0 > 0 }) ?? true else { return nil }
            bounds.append(number.map { UInt64($0) })
        }
        self.init(maxAge: bounds[0], maxCount: bounds[1], maxByteCount: bounds[2])
    }
}
