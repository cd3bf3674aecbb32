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
            || isExceeded(room.firstOffset, room.lastOffset, room.byteCount)
    }

    private func isExceeded(_ first: UInt64, _ last: UInt64, _ byteCount: Int) -> Bool {
        last + 1 - min(first, last + 1) > UInt64(clamping: maxMessagesPerRoom) || byteCount > maxByteCountPerRoom
    }

    /// Folds the devices of a room, and removes its oldest batches that exceed the bounds or are older than `cutoff`.
    nonisolated(nonsending) func maintain(_ room: RoomName, before cutoff: UInt64, _ connection: PostgresConnection)
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
            trim.add(cutoff)
            trim.add(Self.maxBatchCount)
            let changed = try await connection.run([trim])[0]
            guard !changed.rows.isEmpty else { return }
            first = changed.uint64(0, 0)
        }
    }

    /// The time before which messages are too old.
    func cutoff(at now: UInt64) -> UInt64 { maxAge.map { now - min(now, UInt64(clamping: $0)) } ?? 0 }

    /// One step of a pass: the rooms behind an ID. Removes what has not been used, and returns the rooms that need
    /// `maintain`, and the last ID; nil at the end of the pass.
    nonisolated(nonsending) func step(
        after id: Int64, at now: UInt64, _ connection: PostgresConnection
    ) async throws -> (rooms: [RoomName], last: Int64?) {
        var next = PostgresQuery(PostgresStatements.nextRooms)
        next.add(id)
        next.add(cutoff(at: now))
        next.add(Self.roomCount)
        let found = try await connection.run([next])[0]
        guard !found.rows.isEmpty else { return ([], nil) }
        var (rooms, removals): ([RoomName], [PostgresQuery]) = ([], [])
        for index in found.rows {
            // A damaged row stays, and its room is refused.
            guard let row = RoomRow(found, index, logColumn: 2),
                let name = found.text(index, 1).flatMap({ RoomName($0) })
            else { continue }
            if isExceeded(row.firstOffset, row.lastOffset, row.byteCount) || found.int64(index, 8) == 1 {
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
