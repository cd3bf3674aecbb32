import MartletLink
import MartletRelay
import MartletWire

/// An append that erases earlier messages: a transaction of several exchanges, which holds the lock of the
/// room's row.
///
/// The devices are folded first, because a record has the digests of the messages as they were.
enum PostgresEraser {
    /// Returns the first offset; nil if the log does not end where it is expected to.
    nonisolated(nonsending) static func append(
        _ call: NumberedAppend, writer: [UInt8], earliestTime: UInt64, _ connection: PostgresConnection
    ) async throws -> UInt64? {
        let room = call.append.room
        let append = WriteGroup.query(appending: [call], writer: writer, earliestTime: earliestTime)
        guard
            let (before, row, fold) = try await PostgresReader.fold(
                room, connection, before: [PostgresQuery(PostgresStatements.begin), append]),
            WriteGroup.changed(in: before[1])[call.room.id] != nil
        else {
            _ = try await connection.run([PostgresQuery(PostgresStatement("rollback", "ROLLBACK"))])
            return nil
        }
        let erasures = call.append.erasures.filter { $0.offset < UInt64(Int64.max) }
        var edits = PostgresQuery(PostgresStatements.takeEdits)
        edits.add(row.id)
        edits.add(erasures.map(\.id.sender.bytes))
        edits.add(erasures.map(\.id.device.rawValue))
        edits.add(erasures.map(\.id.counter))
        edits.add(erasures.map(\.offset))
        let taken = try await connection.run([edits])[0]
        let offsets = Set(erasures.map(\.offset) + taken.rows.map { taken.uint64($0, 0) })
        var targets = PostgresQuery(PostgresStatements.targets)
        targets.add(row.id)
        targets.add(offsets.sorted())
        let found = try await connection.run([targets])[0]
        let end = [
            fold.query(of: row), erase(erasures, offsets, found, row), PostgresQuery(PostgresStatements.commit),
        ]
        _ = try await connection.run(end)
        return row.firstOffset
    }

    private static func erase(
        _ erasures: [MessageErasure], _ offsets: Set<UInt64>, _ found: PostgresResult, _ row: RoomRow
    ) -> PostgresQuery {
        var (changed, byteCounts, messages): ([UInt64], [Int64], [[UInt8]?]) = ([], [], [])
        var released: Int64 = 0
        for index in found.rows {
            let (first, byteCount) = (found.uint64(index, 0), found.int64(index, 1))
            // A damaged batch is not served, and stays.
            guard 0..<Int64(1) << 48 ~= byteCount,
                var entries = try? StoredBatch.decode(found.bytes(index, 2), firstOffset: first)
            else { continue }
            var difference: Int64 = 0
            var isChanged = false
            for place in entries.indices where offsets.contains(entries[place].offset) {
                guard let erased = erasures.erased(entries[place]) else { continue }
                difference += Int64(entries[place].body.byteCount - erased.body.byteCount)
                entries[place] = erased
                isChanged = true
            }
            guard isChanged else { continue }
            changed.append(first)
            byteCounts.append(byteCount - difference)
            messages.append(StoredBatch.encode(entries[...]))
            released += difference
        }
        var query = PostgresQuery(PostgresStatements.erase)
        query.add(row.id)
        query.add(changed)
        query.add(byteCounts)
        query.add(messages)
        query.add(released)
        return query
    }
}
