package import MartletLink
package import MartletRelay
import MartletTransport
package import MartletWire

/// A database from which rooms are copied. Relays may use it.
package class PostgresTransferSource: TransferSource {
    /// The number of rooms, messages and records, and the size of messages, that are read at once.
    fileprivate static let partCount = 512
    private static let partByteCount = 1024 * 1024

    package let identity: String
    fileprivate let connection: PostgresConnection
    private let loop: EventLoop
    private var row: (name: RoomName, row: RoomRow)?

    /// Connects to a database.
    ///
    /// - Parameter place: Its place among several; nil for one that has all rooms.
    /// - Throws: `PostgresError`, or an error of the system without threads.
    package convenience init(_ uri: String, as place: ShardPlace? = nil) async throws {
        let loop = try EventLoop(name: "martlet-postgres")
        try await self.init(uri, loop) { connection throws(PostgresError) in
            try await PostgresSchema.prepare(connection, creates: false)
            try await PostgresSchema.check(place, connection)
        }
    }

    fileprivate init(_ uri: String, _ loop: EventLoop, _ prepare: @escaping PostgresPreparation) async throws {
        self.loop = loop
        do {
            try PostgresStore.checkURI(uri)
            var deadlines = PostgresMachine.Deadlines()
            deadlines.statement = .seconds(3600)
            connection = try await PostgresConnection.open(uri, on: loop, deadlines) {
                connection throws(PostgresError) in
                try await prepare(connection)
                // A copy waits for its source within a transaction.
                _ = try await connection.perform([
                    PostgresQuery(PostgresStatement("no_timeout", "SET statement_timeout = 0")),
                    PostgresQuery(
                        PostgresStatement("idle_timeout", "SET idle_in_transaction_session_timeout = '10min'")),
                ])
            }
            let rights = try await connection.run([PostgresQuery(PostgresStatements.readsServer)])[0]
            let statement =
                rights.int64(0, 0) == 1 ? PostgresStatements.serverIdentity : PostgresStatements.identity
            let facts = try await connection.run([PostgresQuery(statement)])[0]
            identity = "the database \(facts.text(0, 0) ?? "")"
        } catch {
            await loop.shutdown()
            throw error
        }
    }

    nonisolated(nonsending) package func rooms(after room: RoomName?) async throws -> [RoomName] {
        var query = PostgresQuery(PostgresStatements.roomNames)
        query.add(room?.bytes ?? [])
        query.add(Int64(Self.partCount))
        let found = try await connection.run([query])[0]
        return try found.rows.map { index in
            guard let name = found.text(index, 0).flatMap({ RoomName($0) }) else {
                throw PostgresError.damaged(room: "without a valid name", offset: 0)
            }
            return name
        }
    }

    nonisolated(nonsending) package func begin(_ room: RoomName) async throws -> TransferredRoom? {
        let statements = [
            PostgresStatements.room, PostgresStatements.tail, PostgresStatements.devices, PostgresStatements.progress,
            PostgresStatements.branches,
        ]
        let queries = statements.map { statement in
            var query = PostgresQuery(statement)
            query.add(room.bytes)
            return query
        }
        let found = try await connection.run([PostgresQuery(PostgresStatements.beginRead)] + queries)
        guard let row = try PostgresReader.row(of: room, found[1]) else {
            try await end()
            return nil
        }
        var fold = DeviceFold()
        try fold.add(found[3], of: room)
        fold.add(try PostgresReader.tail(of: row, room, found[2]))
        var copied = TransferredRoom(
            name: room, log: row.log, firstOffset: row.firstOffset, lastOffset: row.lastOffset,
            byteCount: row.byteCount, usedAt: row.usedAt)
        copied.devices = fold.rows.mapValues {
            TransferredRoom.Device(record: $0.record, lastOffset: $0.lastOffset)
        }
        for index in found[4].rows {
            guard let account = found[4].text(index, 0).flatMap({ AccountName($0) }) else {
                throw PostgresError.damaged(room: room.text, offset: 0)
            }
            copied.progress[account] = AccountProgress(
                delivered: found[4].uint64(index, 1), read: found[4].uint64(index, 2))
        }
        for index in found[5].rows {
            copied.branches[LogID(rawValue: found[5].uint64(index, 0))] = found[5].uint64(index, 1)
        }
        self.row = (room, row)
        return copied
    }

    nonisolated(nonsending) package func messages(from offset: UInt64) async throws -> [LogEntry] {
        guard let (room, row) = row, offset <= row.lastOffset else { return [] }
        let range = ReadRange(from: offset, maxCount: Self.partCount, maxByteCount: Self.partByteCount)
        let entries = try await PostgresReader.read(range, of: room, connection).entries
        guard entries.first?.offset == offset else { throw PostgresError.damaged(room: room.text, offset: offset) }
        return entries
    }

    nonisolated(nonsending) package func end() async throws {
        row = nil
        _ = try await connection.run([PostgresQuery(PostgresStatements.commit)])
    }

    nonisolated(nonsending) package func records(
        of part: TransferredPart, after last: TransferredRecord?
    ) async throws -> [TransferredRecord] {
        switch part {
        case .roles:
            let after: RoomName? = if case .roles(let room, _, _, _)? = last { room } else { nil }
            let found = try await page(PostgresStatements.rolesPage, [after?.bytes ?? []])
            return try found.rows.map { index in
                guard let room = found.text(index, 0).flatMap({ RoomName($0) }) else { throw Self.damage }
                return .roles(
                    room, found.bytes(index, 1), creator: found.text(index, 2).flatMap { AccountName($0) },
                    version: found.uint64(index, 3))
            }
        case .memberships:
            var keys: [[UInt8]] = [[], []]
            if case .membership(let room, let account, _)? = last { keys = [account.bytes, room.bytes] }
            let found = try await page(PostgresStatements.membershipsPage, keys)
            return try found.rows.map { index in
                guard let row = PostgresReader.record(found, index) else { throw Self.damage }
                return .membership(row.room, row.account, row.record)
            }
        case .retention:
            let after: RoomName? = if case .retention(let room, _)? = last { room } else { nil }
            let found = try await page(PostgresStatements.retentionPage, [after?.bytes ?? []])
            return try found.rows.map { index in
                guard let room = found.text(index, 0).flatMap({ RoomName($0) }),
                    let bounds = RoomRetention(found, index, from: 1)
                else { throw Self.damage }
                return .retention(room, bounds)
            }
        }
    }

    private static var damage: PostgresError { .damaged(room: "of a record", offset: 0) }

    nonisolated(nonsending) private func page(
        _ statement: PostgresStatement, _ keys: [[UInt8]]
    ) async throws -> PostgresResult {
        var query = PostgresQuery(statement)
        for key in keys { query.add(key) }
        query.add(Int64(Self.partCount))
        return try await connection.run([query])[0]
    }

    nonisolated(nonsending) package func close() async {
        await connection.close()
        await loop.shutdown()
    }
}

/// A database that becomes a copy.
package final class PostgresTransferDestination: PostgresTransferSource, TransferDestination {
    private var room: TransferredRoom?
    /// The row of the room.
    private var id: Int64 = 0

    /// Connects to a database, and creates the tables if it has none.
    ///
    /// - Throws: `PostgresError`, for example `inUse` while a relay uses the database.
    package convenience init(_ uri: String, as place: ShardPlace? = nil) async throws {
        let loop = try EventLoop(name: "martlet-postgres")
        try await self.init(uri, loop) { connection throws(PostgresError) in
            try await PostgresSchema.prepare(connection, creates: true)
            try await PostgresSchema.lock(connection, isShared: false)
            try await PostgresSchema.check(place, connection)
        }
    }

    /// Whether a copy can begin, without a change.
    ///
    /// - Throws: `StoreTransferError.notEmpty`.
    nonisolated(nonsending) func checkCopy(of source: String) async throws {
        var check = PostgresQuery(PostgresStatements.canBeginCopy)
        check.add(source)
        guard try await connection.run([check])[0].int64(0, 0) == 1 else { throw StoreTransferError.notEmpty }
    }

    nonisolated(nonsending) package func beginCopy(of source: String) async throws {
        var begin = PostgresQuery(PostgresStatements.beginCopy)
        begin.add(source)
        guard try await !connection.run([begin])[0].rows.isEmpty else { throw StoreTransferError.notEmpty }
        _ = try await connection.run([PostgresQuery(PostgresStatement("no_retention", "DELETE FROM retention"))])
    }

    nonisolated(nonsending) package func beginRoom(_ room: TransferredRoom, keepsMessages: Bool) async throws {
        var queries = [PostgresQuery(PostgresStatements.begin)]
        if !keepsMessages {
            queries += Self.removal(of: room.name)
            var create = PostgresQuery(PostgresStatements.createCopy)
            create.add(room.name.bytes)
            create.add(room.log.rawValue)
            create.add(room.firstOffset)
            create.add(room.lastOffset)
            create.add(Int64(room.byteCount))
            create.add(room.usedAt)
            queries.append(create)
        }
        var select = PostgresQuery(PostgresStatements.room)
        select.add(room.name.bytes)
        let found = try await connection.run(queries + [select])
        id = found[found.count - 1].int64(0, 0)
        self.room = room
    }

    private static func removal(of room: RoomName) -> [PostgresQuery] {
        PostgresStatements.removeCopied.map { statement in
            var query = PostgresQuery(statement)
            query.add(room.bytes)
            return query
        }
    }

    nonisolated(nonsending) package func add(_ messages: [LogEntry]) async throws {
        let batches = StoredBatch.divide(messages)
        var query = PostgresQuery(PostgresStatements.addBatches)
        query.add(id)
        query.add(batches.map { $0.entries[$0.entries.startIndex].offset })
        query.add(batches.map { Int64($0.entries.count) })
        query.add(batches.map { Int64($0.byteCount) })
        query.add(batches.map { $0.entries[$0.entries.endIndex - 1].acceptedAt })
        query.add(batches.map { StoredBatch.encode($0.entries) })
        let edits = messages.compactMap { entry in entry.editTarget.map { (target: $0, offset: entry.offset) } }
        var edited = PostgresQuery(PostgresStatements.addEdits)
        edited.add(id)
        edited.add(edits.map(\.target.sender.bytes))
        edited.add(edits.map(\.target.device.rawValue))
        edited.add(edits.map(\.target.counter))
        edited.add(edits.map(\.offset))
        _ = try await connection.run([query, edited])
    }

    nonisolated(nonsending) package func endRoom() async throws {
        guard let room else { return }
        self.room = nil
        var queries = PostgresStatements.removeRows.map { statement in
            var query = PostgresQuery(statement)
            query.add(id)
            return query
        }
        let devices = room.devices.sorted {
            ($0.key.account, $0.key.device.rawValue) < ($1.key.account, $1.key.device.rawValue)
        }
        var saved = PostgresQuery(PostgresStatements.addDevices)
        saved.add(id)
        saved.add(devices.map { $0.key.account.bytes })
        saved.add(devices.map(\.key.device.rawValue))
        saved.add(devices.map(\.value.record.watermark))
        saved.add(devices.map(\.value.record.seen))
        saved.add(devices.map(\.value.record.gapBytes))
        saved.add(devices.map(\.value.record.digestBytes))
        saved.add(devices.map(\.value.lastOffset))
        saved.add(devices.map(\.value.record.usedAt))
        queries.append(saved)
        let progress = room.progress.sorted { $0.key < $1.key }
        var marks = PostgresQuery(PostgresStatements.addProgress)
        marks.add(id)
        marks.add(progress.map(\.key.bytes))
        marks.add(progress.map(\.value.delivered))
        marks.add(progress.map(\.value.read))
        queries.append(marks)
        var branches = PostgresQuery(PostgresStatements.addBranches)
        branches.add(id)
        branches.add(room.branches.map(\.key.rawValue))
        branches.add(room.branches.map(\.value))
        queries.append(branches)
        _ = try await connection.run(queries + [PostgresQuery(PostgresStatements.commit)])
    }

    nonisolated(nonsending) package func remove(_ room: RoomName) async throws {
        _ = try await connection.run(Self.removal(of: room))
    }

    nonisolated(nonsending) package func beginPart(_ part: TransferredPart) async throws {
        let delete = PostgresStatement("remove_\(part.rawValue)", "DELETE FROM \(part.rawValue)")
        _ = try await connection.run([PostgresQuery(PostgresStatements.begin), PostgresQuery(delete)])
    }

    nonisolated(nonsending) package func add(_ records: [TransferredRecord]) async throws {
        _ = try await connection.run(
            records.map { record in
                switch record {
                case .roles(let room, let roles, let creator, let version):
                    var query = PostgresQuery(PostgresStatements.addRoles)
                    query.add(room.bytes)
                    query.add(roles)
                    query.add(creator?.bytes)
                    query.add(version)
                    return query
                case .membership(let room, let account, let record):
                    var query = PostgresQuery(PostgresStatements.addMembership)
                    query.add(account.bytes)
                    query.add(room.bytes)
                    query.add(Int64(record.isJoined ? 1 : 0))
                    query.add(record.inviter?.bytes)
                    query.add(record.changedAt)
                    return query
                case .retention(let room, let bounds): return bounds.query(saving: room)
                }
            })
    }

    nonisolated(nonsending) package func endPart() async throws {
        _ = try await connection.run([PostgresQuery(PostgresStatements.commit)])
    }

    nonisolated(nonsending) package func endCopy() async throws {
        _ = try await connection.run([
            PostgresQuery(PostgresStatements.endRoles), PostgresQuery(PostgresStatements.endCopy),
        ])
    }
}

extension PostgresStatements {
    /// The name of a database that does not depend on the address by which it is reached.
    fileprivate static let identity = PostgresStatement("identity", "SELECT \(name)")
    /// The same with the identifier of the server: fresh servers give their databases equal numbers.
    fileprivate static let serverIdentity = PostgresStatement(
        "server_identity",
        "SELECT \(name) || ', server ' || (SELECT system_identifier FROM pg_control_system())")
    /// Whether the role may read the identifier of the server.
    fileprivate static let readsServer = PostgresStatement(
        "reads_server", "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')::int::bigint")
    private static let name = """
        current_database() || ' (' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '.'
            || to_regclass('rooms')::oid || '), schema ' || current_schema()
        """
    fileprivate static let roomNames = PostgresStatement(
        "room_names", "SELECT name FROM rooms WHERE name > $1::bytea ORDER BY name LIMIT $2::bigint")
    fileprivate static let rolesPage = PostgresStatement(
        "roles_page",
        "SELECT room, roles, creator, version FROM roles WHERE room > $1::bytea ORDER BY room LIMIT $2::bigint")
    fileprivate static let membershipsPage = PostgresStatement(
        "memberships_page",
        """
        SELECT room, account, joined, inviter, changed_at FROM memberships
        WHERE (account, room) > ($1::bytea, $2::bytea) ORDER BY account, room LIMIT $3::bigint
        """)
    fileprivate static let retentionPage = PostgresStatement(
        "retention_page",
        """
        SELECT room, max_age, max_count, max_byte_count FROM retention
        WHERE room > $1::bytea ORDER BY room LIMIT $2::bigint
        """)
    /// Begins a copy in empty tables, or continues one of the same source; no row otherwise.
    fileprivate static let beginCopy = PostgresStatement(
        "begin_copy",
        """
        INSERT INTO copy SELECT 1, convert_from($1::bytea, 'UTF8'), 0 WHERE \(isFit)
        ON CONFLICT (id) DO UPDATE SET source = excluded.source, is_complete = 0 RETURNING id
        """)
    fileprivate static let canBeginCopy = PostgresStatement("can_begin_copy", "SELECT (\(isFit))::int::bigint")
    private static let isFit = """
        EXISTS (SELECT FROM copy WHERE source = convert_from($1::bytea, 'UTF8')) OR NOT (
            EXISTS (SELECT FROM rooms) OR EXISTS (SELECT FROM roles) OR EXISTS (SELECT FROM memberships))
        """
    fileprivate static let endCopy = PostgresStatement("end_copy", "UPDATE copy SET is_complete = 1")
    /// Rooms have the versions of their roles.
    fileprivate static let endRoles = PostgresStatement(
        "end_roles",
        "UPDATE rooms SET roles_version = coalesce((SELECT version FROM roles WHERE room = name), 0)")
    private static let ofRoom = "room = (SELECT id FROM rooms WHERE name = $1::bytea)"
    fileprivate static let removeCopied =
        ["batches", "edits", "devices", "progress", "branches"].map {
            PostgresStatement("remove_copied_\($0)", "DELETE FROM \($0) WHERE \(ofRoom)")
        } + [PostgresStatement("remove_copied", "DELETE FROM rooms WHERE name = $1::bytea")]
    fileprivate static let removeRows = ["devices", "progress", "branches"].map {
        PostgresStatement("remove_rows_\($0)", "DELETE FROM \($0) WHERE room = $1::bigint")
    }
    fileprivate static let createCopy = PostgresStatement(
        "create_copy",
        """
        INSERT INTO rooms (name, log, first_offset, last_offset, byte_count, folded_offset, used_at, roles_version)
        VALUES ($1::bytea, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $4::bigint, $6::bigint, 0)
        """)
    /// The writer of the batches is no store.
    fileprivate static let addBatches = PostgresStatement(
        "add_batches",
        """
        INSERT INTO batches (room, first_offset, count, byte_count, accepted_at, writer, number, messages)
        SELECT $1::bigint, first_offset, count, byte_count, accepted_at, '', 0, messages
        FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[])
            AS new(first_offset, count, byte_count, accepted_at, messages)
        """)
    fileprivate static let addEdits = PostgresStatement(
        "add_edits",
        """
        INSERT INTO edits SELECT $1::bigint, account, device, counter, place
        FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[]) AS new(account, device, counter, place)
        ON CONFLICT DO NOTHING
        """)
    fileprivate static let addDevices = PostgresStatement(
        "add_devices",
        """
        INSERT INTO devices SELECT $1::bigint, d.* FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[],
            $6::bytea[], $7::bytea[], $8::bigint[], $9::bigint[]) AS d
        """)
    fileprivate static let addProgress = PostgresStatement(
        "add_progress",
        """
        INSERT INTO progress
        SELECT $1::bigint, account, delivered, read FROM unnest($2::bytea[], $3::bigint[], $4::bigint[])
            AS new(account, delivered, read)
        """)
    fileprivate static let addBranches = PostgresStatement(
        "add_branches",
        "INSERT INTO branches SELECT $1::bigint, log, last FROM unnest($2::bigint[], $3::bigint[]) AS new(log, last)")
    fileprivate static let addRoles = PostgresStatement(
        "add_roles", "INSERT INTO roles VALUES ($1::bytea, $2::bytea, $3::bytea, $4::bigint)")
    fileprivate static let addMembership = PostgresStatement(
        "add_membership",
        "INSERT INTO memberships VALUES ($1::bytea, $2::bytea, $3::bigint, $4::bytea, $5::bigint)")
}
