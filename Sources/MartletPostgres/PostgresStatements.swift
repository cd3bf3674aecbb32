/// The statements of the store, each of which a connection prepares once.
enum PostgresStatements {
    static let begin = PostgresStatement("begin", "BEGIN")
    static let beginRead = PostgresStatement("begin_read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    static let commit = PostgresStatement("commit", "COMMIT")

    // MARK: Writing

    static let create = PostgresStatement(
        "create",
        """
        INSERT INTO rooms (name, log, first_offset, last_offset, byte_count, folded_offset, used_at, roles_version)
        SELECT name, log, 1, 0, 0, 0, $3::bigint,
            coalesce((SELECT version FROM roles WHERE room = name FOR SHARE), 0)
        FROM unnest($1::bytea[], $2::bigint[]) AS new(name, log)
        ON CONFLICT (name) DO NOTHING
        """)

    /// Appends to the logs that end where they are expected to, and returns their rows. `first` and `pieces` are the
    /// places of the batches of a room in the arrays of batches.
    ///
    /// A refused append has locked the row of its room, for which other relays wait until its commit. So the commit is
    /// not synced if all appends are refused and `$22` says that nothing else in the transaction has to be durable.
    static let append = PostgresStatement(
        "append",
        """
        WITH changed AS (
            UPDATE rooms SET last_offset = last_offset + new.count, byte_count = rooms.byte_count + new.bytes,
                used_at = greatest(rooms.used_at, new.used_at)
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                $7::bigint[], $8::bigint[], $9::bigint[], $21::bigint[])
                AS new(room, log, next, count, bytes, used_at, first, pieces, number, roles)
            WHERE rooms.id = new.room AND rooms.log = new.log AND rooms.last_offset = new.next - 1
                AND rooms.roles_version = new.roles
            RETURNING rooms.id, name, first_offset, last_offset, byte_count, folded_offset, new.first, new.pieces,
                new.number),
        added AS (
            INSERT INTO batches (room, first_offset, count, byte_count, accepted_at, writer, number, messages)
            SELECT id, ($10::bigint[])[piece], ($11::bigint[])[piece], ($12::bigint[])[piece], ($13::bigint[])[piece],
                $14::bytea, number, ($15::bytea[])[piece]
            FROM changed CROSS JOIN LATERAL generate_series(first, first + pieces - 1) AS piece),
        edited AS (
            INSERT INTO edits SELECT id, account, device, counter, place
            FROM unnest($16::bigint[], $17::bytea[], $18::bigint[], $19::bigint[], $20::bigint[])
                AS edit(room, account, device, counter, place)
            JOIN changed ON id = edit.room ON CONFLICT DO NOTHING),
        unsynced AS MATERIALIZED (
            SELECT set_config('synchronous_commit', 'off', true)
            WHERE $22::bigint = 1 AND NOT EXISTS (SELECT FROM changed))
        SELECT id, first_offset, last_offset, byte_count, folded_offset, max_age, max_count, max_byte_count
        FROM changed LEFT JOIN retention ON retention.room = changed.name
        UNION ALL SELECT 0, 0, 0, 0, 0, 0, 0, 0 FROM unsynced WHERE set_config IS NULL
        """)

    /// The log of a room, and its batches from the one with an offset on.
    static let appended = PostgresStatement(
        "appended",
        """
        SELECT log, rooms.first_offset, last_offset, b.first_offset, count, messages,
            (writer = $3::bytea AND number = $4::bigint)::int::bigint, roles_version
        FROM rooms LEFT JOIN LATERAL (
            SELECT * FROM batches WHERE room = rooms.id AND batches.first_offset >= coalesce(
                (SELECT max(o.first_offset) FROM batches o WHERE o.room = rooms.id AND o.first_offset <= $2::bigint), 0)
            ORDER BY batches.first_offset LIMIT 64) AS b ON true
        WHERE rooms.id = $1::bigint ORDER BY b.first_offset
        """)

    static let saveProgress = PostgresStatement(
        "save_progress",
        """
        INSERT INTO progress
        SELECT rooms.id, new.account, least(new.delivered, last_offset), least(new.read, last_offset)
        FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) AS new(name, account, delivered, read)
        JOIN rooms ON rooms.name = new.name
        ON CONFLICT (room, account) DO UPDATE SET
            delivered = greatest(progress.delivered, excluded.delivered), read = greatest(progress.read, excluded.read)
        """)

    static let touch = PostgresStatement(
        "touch", "UPDATE rooms SET used_at = $2::bigint WHERE name = ANY($1::bytea[]) AND used_at < $2::bigint")

    static let saveRoles = PostgresStatement(
        "save_roles",
        "SELECT save_roles($1::bytea, $2::bytea, $3::bigint, $4::bytea, $5::bigint, $6::bigint, $7::bigint)")

    static let saveRetention = PostgresStatement(
        "save_retention",
        """
        INSERT INTO retention VALUES ($1::bytea, $2::bigint, $3::bigint, $4::bigint) ON CONFLICT (room) DO UPDATE SET
            max_age = excluded.max_age, max_count = excluded.max_count, max_byte_count = excluded.max_byte_count
        """)
    static let removeRetention = PostgresStatement("remove_retention", "DELETE FROM retention WHERE room = $1::bytea")

    /// Saves records of a room, and returns the accounts that have too many. A record that is removed has -1 in
    /// `joined`.
    static let saveMemberships = PostgresStatement(
        "save_memberships",
        """
        WITH new AS MATERIALIZED (
            SELECT * FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[])
                AS new(account, joined, inviter, changed_at, bound)),
        removed AS (
            DELETE FROM memberships USING new
            WHERE memberships.account = new.account AND memberships.room = $1::bytea AND new.joined < 0),
        fitting AS MATERIALIZED (
            SELECT * FROM new WHERE joined >= 0 AND (
                EXISTS (SELECT FROM memberships m WHERE m.account = new.account AND m.room = $1::bytea)
                OR (SELECT count(*) FROM memberships m WHERE m.account = new.account) < bound)),
        saved AS (
            INSERT INTO memberships SELECT account, $1::bytea, joined, inviter, changed_at FROM fitting
            ON CONFLICT (account, room) DO UPDATE SET
                joined = excluded.joined, inviter = excluded.inviter, changed_at = excluded.changed_at)
        SELECT account FROM new WHERE joined >= 0 AND account NOT IN (SELECT account FROM fitting)
        """)

    // MARK: Copies

    /// The source of an incomplete copy, of which a complete copy has none from now on.
    static let copySource = PostgresStatement("copy_source", "SELECT source FROM copy WHERE is_complete = 0")
    static let leaveCopy = PostgresStatement("leave_copy", "DELETE FROM copy WHERE is_complete = 1")

    // MARK: Other relays

    /// Notifies the relays that use the schema.
    static let notify = PostgresStatement(
        "notify", "SELECT pg_notify(current_schema(), convert_from(report, 'UTF8')) FROM unnest($1::bytea[]) AS report")
    /// The number of characters of the schema in the channel of the bus, whose name has at most 63.
    static let maxBusChannelPrefix = 59
    /// Sends datagrams to the relays that use the schema.
    static let notifyBus = PostgresStatement(
        "notify_bus",
        """
        SELECT pg_notify(left(current_schema(), \(maxBusChannelPrefix)) || '_bus', convert_from(datagram, 'UTF8'))
        FROM unnest($1::bytea[]) AS datagram
        """)
    /// The key of the bus.
    static let busKey = PostgresStatement("bus_key", "SELECT key FROM bus")
    /// The positions of rooms that are not those that a relay knows; without a log if the database has no such room.
    static let changes = PostgresStatement(
        "changes",
        """
        SELECT known.name, rooms.log, rooms.last_offset, rooms.roles_version
        FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[]) AS known(name, log, last, roles)
        LEFT JOIN rooms ON rooms.name = known.name
        WHERE (rooms.log, rooms.last_offset, rooms.roles_version) IS DISTINCT FROM (known.log, known.last, known.roles)
        """)

    // MARK: Lists

    /// Rooms behind one, and whether an account may have published in them: the rows of devices do not contain the
    /// newest messages.
    static let rooms = PostgresStatement(
        "rooms",
        """
        SELECT name, log, first_offset, last_offset, ($2::bytea IS NULL OR folded_offset < last_offset
            OR EXISTS (SELECT FROM devices WHERE room = rooms.id AND account = $2::bytea))::int::bigint
        FROM rooms WHERE name > $1::bytea ORDER BY name LIMIT $3::bigint
        """)

    // MARK: Folding and erasing

    static let room = PostgresStatement(
        "room",
        """
        SELECT id, log, first_offset, last_offset, byte_count, folded_offset, used_at FROM rooms WHERE name = $1::bytea
        """)
    /// The batches that the rows of devices do not contain yet.
    static let tail = PostgresStatement(
        "tail",
        """
        SELECT b.first_offset, b.count, b.messages FROM rooms JOIN batches b ON b.room = rooms.id
        WHERE rooms.name = $1::bytea AND b.first_offset > rooms.folded_offset ORDER BY b.first_offset
        """)
    /// The row of a room with the same batches. Both are those of one instant, also while relays append.
    static let unfolded = PostgresStatement(
        "unfolded",
        """
        SELECT id, log, rooms.first_offset, last_offset, rooms.byte_count, folded_offset, used_at, b.first_offset,
            b.count, b.messages
        FROM rooms LEFT JOIN batches b ON b.room = rooms.id AND b.first_offset > rooms.folded_offset
        WHERE rooms.name = $1::bytea ORDER BY b.first_offset
        """)
    private static let deviceColumns = "account, device, counter, seen, gaps, digests, last_offset, used_at"
    static let someDevices = PostgresStatement(
        "some_devices",
        """
        SELECT \(deviceColumns) FROM devices JOIN unnest($2::bytea[], $3::bigint[]) AS wanted(account, device)
        USING (account, device) WHERE room = $1::bigint
        """)
    /// Saves the rows of devices up to an offset, unless another writer has done so, and removes old ones.
    static let fold = PostgresStatement(
        "fold",
        """
        WITH folded AS (
            UPDATE rooms SET folded_offset = $4::bigint
            WHERE id = $1::bigint AND log = $2::bigint AND folded_offset = $3::bigint RETURNING id)
        INSERT INTO devices SELECT id, d.* FROM folded CROSS JOIN unnest($5::bytea[], $6::bigint[], $7::bigint[],
            $8::bigint[], $9::bytea[], $10::bytea[], $11::bigint[], $12::bigint[]) AS d
        ON CONFLICT (room, account, device) DO UPDATE SET counter = excluded.counter, seen = excluded.seen,
            gaps = excluded.gaps, digests = excluded.digests, last_offset = excluded.last_offset,
            used_at = excluded.used_at
        """)
    static let takeEdits = PostgresStatement(
        "take_edits",
        """
        DELETE FROM edits USING unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[])
            AS target(account, device, counter, place)
        WHERE edits.room = $1::bigint AND edits.account = target.account AND edits.device = target.device
            AND edits.counter = target.counter AND edits."offset" > target.place
        RETURNING edits."offset"
        """)
    /// The batches that have offsets.
    static let targets = PostgresStatement(
        "targets",
        """
        SELECT first_offset, byte_count, messages FROM batches WHERE room = $1::bigint AND first_offset IN (
            SELECT (SELECT max(b.first_offset) FROM batches b WHERE b.room = $1::bigint AND b.first_offset <= place)
            FROM unnest($2::bigint[]) AS place)
        """)
    static let erase = PostgresStatement(
        "erase",
        """
        WITH erased AS (
            UPDATE batches SET byte_count = new.byte_count, messages = ($4::bytea[])[new.place]
            FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS new(first_offset, byte_count, place)
            WHERE room = $1::bigint AND batches.first_offset = new.first_offset)
        UPDATE rooms SET byte_count = greatest(0, byte_count - $5::bigint) WHERE id = $1::bigint
        """)

    // MARK: Reading

    private static let byName = "room = (SELECT id FROM rooms WHERE name = $1::bytea)"
    static let devices = PostgresStatement(
        "devices",
        """
        SELECT \(deviceColumns) FROM devices WHERE \(byName)
        ORDER BY used_at DESC LIMIT \(PostgresReader.maxDeviceCount)
        """)
    static let progress = PostgresStatement(
        "progress",
        """
        SELECT account, delivered, read FROM progress WHERE \(byName)
        ORDER BY delivered DESC LIMIT \(PostgresReader.maxProgressCount)
        """)
    static let branches = PostgresStatement("branches", "SELECT log, last_offset FROM branches WHERE \(byName)")
    static let newest = PostgresStatement(
        "newest", "SELECT first_offset, count FROM batches WHERE \(byName) ORDER BY first_offset DESC LIMIT 1")
    static let roles = PostgresStatement("roles", "SELECT roles, version FROM roles WHERE room = $1::bytea")
    static let retention = PostgresStatement(
        "retention", "SELECT max_age, max_count, max_byte_count FROM retention WHERE room = $1::bytea")
    static let hasRoles = PostgresStatement("has_roles", "SELECT 1::bigint FROM roles LIMIT 1")
    private static let recordColumns = "m.room, m.account, m.joined, m.inviter, m.changed_at"
    static let memberships = PostgresStatement(
        "memberships", "SELECT \(recordColumns) FROM memberships m WHERE m.room = $1::bytea")

    /// The batches of a page: from the one with the offset on, until the ones before have enough messages or bytes.
    static let page = PostgresStatement(
        "page",
        """
        SELECT rooms.first_offset, last_offset, b.first_offset, count, messages, rooms.log
        FROM rooms LEFT JOIN LATERAL (
            SELECT * FROM (
                SELECT batches.first_offset, count, messages,
                    sum(count) OVER before - first_value(count) OVER before AS messages_before,
                    sum(byte_count) OVER before - first_value(byte_count) OVER before AS bytes_before
                FROM batches WHERE room = rooms.id AND batches.first_offset >= coalesce((
                    SELECT max(o.first_offset) FROM batches o
                    WHERE o.room = rooms.id AND o.first_offset <= greatest($2::bigint, rooms.first_offset)), 0)
                WINDOW before AS (ORDER BY batches.first_offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                ORDER BY batches.first_offset LIMIT $3::bigint) AS summed
            WHERE coalesce(messages_before, 0) < $3::bigint AND coalesce(bytes_before, 0) < $4::bigint) AS b ON true
        WHERE name = $1::bytea ORDER BY b.first_offset
        """)

    static let names = PostgresStatement(
        "names",
        "SELECT \(recordColumns) FROM memberships m WHERE m.account = $1::bytea ORDER BY m.room LIMIT $2::bigint")
    static let entries = PostgresStatement(
        "entries",
        """
        SELECT \(recordColumns), r.log, r.first_offset, r.last_offset, p.delivered, p.read, o.roles
        FROM memberships m LEFT JOIN rooms r ON r.name = m.room
        LEFT JOIN progress p ON p.room = r.id AND p.account = m.account LEFT JOIN roles o ON o.room = m.room
        \(selection)
        """)
    /// The newest batches of the same rooms, the newest first, without those that an entry does not need.
    static let newestOfEntries = PostgresStatement(
        "newest_of_entries",
        """
        SELECT m.room, b.first_offset, b.messages
        FROM (SELECT m.room FROM memberships m \(selection)) AS m JOIN rooms r ON r.name = m.room
        CROSS JOIN LATERAL (
            SELECT * FROM (
                SELECT first_offset, messages, sum(byte_count) OVER (ORDER BY first_offset DESC) - byte_count AS bytes
                FROM (SELECT * FROM batches WHERE room = r.id ORDER BY first_offset DESC LIMIT $5::bigint) AS newest
                ORDER BY first_offset DESC) AS summed
            WHERE bytes < $6::bigint) AS b
        ORDER BY m.room, b.first_offset DESC
        """)
    private static let selection = """
        WHERE m.account = $1::bytea AND m.room > $2::bytea AND ($4::bytea[] IS NULL OR m.room = ANY($4::bytea[]))
        ORDER BY m.room LIMIT $3::bigint
        """

    // MARK: Retention

    static let clock = PostgresStatement(
        "clock", "SELECT coalesce((SELECT time FROM clock), (SELECT max(used_at) FROM rooms), -1)")
    static let saveClock = PostgresStatement(
        "save_clock",
        """
        INSERT INTO clock VALUES (1, $1::bigint, 0) ON CONFLICT (id) DO UPDATE SET time = excluded.time
        WHERE clock.time NOT BETWEEN excluded.time - $2::bigint + 1 AND excluded.time
        """)
    /// One relay at a time makes a pass: the one that sets this time, which is that of the server.
    static let claimPass = PostgresStatement(
        "claim_pass",
        """
        UPDATE clock SET pass_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        WHERE pass_at NOT BETWEEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint + 1
            AND (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        RETURNING pass_at
        """)
    /// Rooms from an ID on, whether their oldest batch is too old, and their own bounds.
    static let nextRooms = PostgresStatement(
        "next_rooms",
        """
        SELECT id, name, log, first_offset, last_offset, byte_count, folded_offset, used_at,
            coalesce((SELECT accepted_at FROM batches WHERE room = rooms.id ORDER BY first_offset LIMIT 1)
                < $2::bigint - coalesce(max_age, $4::bigint), false)::int::bigint, max_age, max_count, max_byte_count
        FROM rooms LEFT JOIN retention ON retention.room = rooms.name
        WHERE id > $1::bigint ORDER BY id LIMIT $3::bigint
        """)
    /// Removes the oldest batches of a room that exceed its bounds, if their devices are folded, and if the first
    /// offset is still the same. The bounds are those of the room, and otherwise those of the store. Without a time, 0,
    /// no batch is too old.
    static let trim = PostgresStatement(
        "trim",
        """
        WITH bounds AS MATERIALIZED (
            SELECT coalesce(max_count, $4::bigint) AS count, coalesce(max_byte_count, $5::bigint) AS bytes,
                coalesce($6::bigint - coalesce(max_age, $8::bigint), 0) AS cutoff
            FROM rooms LEFT JOIN retention ON retention.room = rooms.name WHERE id = $1::bigint),
        oldest AS (
            SELECT b.first_offset + b.count AS next, sum(b.byte_count) OVER (ORDER BY b.first_offset) AS bytes,
                bool_and(b.first_offset + b.count - 1 <= r.folded_offset AND (b.accepted_at < bounds.cutoff
                    OR r.last_offset + 1 - b.first_offset - b.count >= bounds.count)) OVER (ORDER BY b.first_offset)
                    AS is_old,
                bool_and(b.first_offset + b.count - 1 <= r.folded_offset) OVER (ORDER BY b.first_offset) AS is_folded,
                b.first_offset + b.count > r.last_offset AS is_last, r.byte_count - bounds.bytes AS excess
            FROM rooms r CROSS JOIN bounds CROSS JOIN LATERAL (
                SELECT * FROM batches WHERE room = r.id ORDER BY first_offset LIMIT $7::bigint) AS b
            WHERE r.id = $1::bigint),
        removed AS (
            SELECT max(next) AS next, max(bytes) AS bytes FROM oldest
            WHERE is_old OR is_folded AND NOT is_last AND excess >= bytes),
        changed AS (
            UPDATE rooms SET first_offset = removed.next, byte_count = greatest(0, byte_count - removed.bytes)
            FROM removed WHERE id = $1::bigint AND log = $2::bigint AND first_offset = $3::bigint
                AND removed.next > first_offset
            RETURNING id, first_offset, last_offset, byte_count),
        deleted AS (
            DELETE FROM batches USING changed
            WHERE batches.room = changed.id AND batches.first_offset < changed.first_offset),
        edited AS (
            DELETE FROM edits USING changed WHERE edits.room = changed.id AND edits."offset" < changed.first_offset)
        SELECT first_offset, last_offset, byte_count FROM changed
        """)
    /// Removes the devices of rooms that have not published for a lifetime and have no messages left, and
    /// progress beyond the maximum.
    static let removeDevices = PostgresStatement(
        "remove_devices",
        """
        DELETE FROM devices USING rooms WHERE rooms.id = ANY($1::bigint[]) AND devices.room = rooms.id
            AND devices.used_at < $2::bigint AND devices.last_offset < rooms.first_offset
            AND rooms.folded_offset = rooms.last_offset
        """)
    static let removeProgress = PostgresStatement(
        "remove_progress",
        """
        DELETE FROM progress USING unnest($1::bigint[]) AS wanted(id) WHERE progress.room = wanted.id
            AND progress.account IN (SELECT p.account FROM progress p WHERE p.room = wanted.id
                ORDER BY p.delivered DESC OFFSET \(PostgresReader.maxProgressCount))
        """)
    /// Removes a room without messages, unless it was used meanwhile. Its next log has another identity.
    static let removeRoom = PostgresStatement(
        "remove_room",
        """
        WITH gone AS (
            DELETE FROM rooms WHERE id = $1::bigint AND log = $2::bigint AND used_at = $3::bigint
                AND first_offset > last_offset RETURNING id),
        b AS (DELETE FROM batches USING gone WHERE room = gone.id),
        e AS (DELETE FROM edits USING gone WHERE room = gone.id),
        d AS (DELETE FROM devices USING gone WHERE room = gone.id),
        p AS (DELETE FROM progress USING gone WHERE room = gone.id)
        DELETE FROM branches USING gone WHERE room = gone.id
        """)
}
