import MartletLink
import MartletRelay
import MartletWire

/// The bounds of the rooms of a store in PostgreSQL. Whole batches are removed, so a bound can be exceeded by one
/// batch.
public struct PostgresRetention: Equatable, Sendable {
    /// The duration for which a room without messages is kept after its last use, in milliseconds.
    static let roomLifetime: UInt64 = 30 * 24 * 3600 * 1000  // bound
    /// The same for a room that never had a message, in milliseconds.
    static let emptyRoomLifetime: UInt64 = 24 * 3600 * 1000  // bound
    /// The maximum number of messages behind the folded offset, after which the rows of devices are saved.
    static let maxUnfoldedCount: UInt64 = 1024
    /// The maximum number of batches that a step, one transaction, removes.
    private static let maxBatchCount: Int64 = 256
    /// The rooms that a step of a pass visits.
    private static let roomCount: Int64 = 256  // bound

    /// The maximum number of messages of a room, at least 1.
    public var maxMessagesPerRoom = 100_000  // bound
    /// The maximum size of the bodies of a room, in bytes. The newest batch is kept even if it is larger.
    public var maxByteCountPerRoom = 64 * 1024 * 1024  // bound
    /// The maximum age of a message, in milliseconds of the wall clock; nil for any.
    public var maxAge: Int?  // bound

    /// Creates the default bounds.
    public init() {}

    /// What the relay reports to members.
    var reported: RoomRetention {
        RoomRetention(
            maxAge: maxAge.map { UInt64(clamping: $0) }, maxCount: UInt64(clamping: maxMessagesPerRoom),
            maxByteCount: UInt64(clamping: maxByteCountPerRoom))
    }

    /// Whether a room needs `maintain` after an append.
    func concerns(_ room: WriteGroup.Appended) -> Bool {
        room.lastOffset - min(room.foldedOffset, room.lastOffset) >= Self.maxUnfoldedCount
            || isExceeded(room.firstOffset, room.lastOffset, room.byteCount, room.bounds)
    }

    private func isExceeded(_ first: UInt64, _ last: UInt64, _ byteCount: Int, _ own: RoomRetention) -> Bool {
        let bounds = own.completed(by: reported)
        return last + 1 - min(first, last + 1) > bounds.maxCount ?? .max
            || UInt64(clamping: byteCount) > bounds.maxByteCount ?? .max
    }

    /// Folds the devices of a room, and removes its oldest batches that exceed the bounds.
    ///
    /// - Parameter now: The time by which the age is measured; 0 for any age.
    nonisolated(nonsending) func maintain(_ room: RoomName, at now: UInt64, _ connection: PostgresConnection)
        async throws
    {
        guard let (_, row, fold) = try await PostgresReader.fold(room, connection) else { return }
        if row.lastOffset > row.foldedOffset { _ = try await connection.run([fold.query(of: row)]) }
        var first = row.firstOffset
        while true {
            var trim = PostgresQuery(PostgresStatements.trim)
            trim.add(row.id)
            trim.add(row.log.rawValue)
            trim.add(first)
            trim.add(Int64(maxMessagesPerRoom))
            trim.add(Int64(maxByteCountPerRoom))
            trim.add(now)
            trim.add(Self.maxBatchCount)
            trim.add(maxAge.map { Int64($0) })
            let changed = try await connection.run([trim])[0]
            guard !changed.rows.isEmpty else { return }
            first = changed.uint64(0, 0)
        }
    }

    /// One step of a pass: the rooms behind an ID. Removes what has not been used, and returns the rooms that need
    /// `maintain`, and the last ID; nil at the end of the pass.
    nonisolated(nonsending) func step(
        after id: Int64, at now: UInt64, _ connection: PostgresConnection
    ) async throws -> (rooms: [RoomName], last: Int64?) {
        var next = PostgresQuery(PostgresStatements.nextRooms)
        next.add(id)
        next.add(now)
        next.add(Self.roomCount)
        next.add(maxAge.map { Int64($0) })
        let found = try await connection.run([next])[0]
        guard !found.rows.isEmpty else { return ([], nil) }
        var (rooms, removals): ([RoomName], [PostgresQuery]) = ([], [])
        for index in found.rows {
            // A damaged row stays, and its room is refused.
            guard let row = RoomRow(found, index, logColumn: 2),
                let name = found.text(index, 1).flatMap({ RoomName($0) })
            else { continue }
            let bounds = RoomRetention(found, index, from: 9) ?? RoomRetention()
            if isExceeded(row.firstOffset, row.lastOffset, row.byteCount, bounds) || found.int64(index, 8) == 1 {
                rooms.append(name)
            }
            let lifetime = row.lastOffset == 0 ? Self.emptyRoomLifetime : Self.roomLifetime
            guard row.firstOffset > row.lastOffset, row.usedAt + lifetime < now else { continue }
            var removal = PostgresQuery(PostgresStatements.removeRoom)
            removal.add(row.id)
            removal.add(row.log.rawValue)
            removal.add(row.usedAt)
            removals.append(removal)
        }
        let ids = found.rows.map { found.int64($0, 0) }
        var devices = PostgresQuery(PostgresStatements.removeDevices)
        devices.add(ids)
        devices.add(now - min(now, DeviceRecord.lifetime))
        var progress = PostgresQuery(PostgresStatements.removeProgress)
        progress.add(ids)
        _ = try await connection.run([devices, progress] + removals)
        return (rooms, ids.count < Self.roomCount ? nil : ids.last)
    }

    /// Stores the time of the expiry clock, and claims a pass; false if another relay makes it.
    nonisolated(nonsending) static func beginPass(
        at now: UInt64, every interval: UInt64, _ connection: PostgresConnection
    ) async throws -> Bool {
        try await saveClock(now, connection)
        var claim = PostgresQuery(PostgresStatements.claimPass)
        claim.add(interval)
        return try await !connection.run([claim])[0].rows.isEmpty
    }

    nonisolated(nonsending) static func saveClock(_ now: UInt64, _ connection: PostgresConnection) async throws {
        var save = PostgresQuery(PostgresStatements.saveClock)
        save.add(Int64(clamping: now))
        save.add(Int64(600_000))
        _ = try await connection.run([save])
    }
}

extension RoomRetention {
    /// Reads the columns max_age, max_count and max_byte_count; nil if a bound is not valid.
    init?(_ result: PostgresResult, _ row: Int32, from column: Int32) {
        var bounds: [UInt64?] = []
        for index in column..<column + 3 {
            let number = result.isNull(row, index) ? nil : result.int64(row, index)
            guard number.map({ $0 > 0 }) ?? true else { return nil }
            bounds.append(number.map { UInt64($0) })
        }
        self.init(maxAge: bounds[0], maxCount: bounds[1], maxByteCount: bounds[2])
    }

    /// The statement that makes the bounds those of a room.
    func query(saving room: RoomName) -> PostgresQuery {
        let isEmpty = self == RoomRetention()
        var query = PostgresQuery(isEmpty ? PostgresStatements.removeRetention : PostgresStatements.saveRetention)
        query.add(room.bytes)
        guard !isEmpty else { return query }
        for bound in [maxAge, maxCount, maxByteCount] { query.add(bound.map { max(1, Int64(clamping: $0)) }) }
        return query
    }
}
