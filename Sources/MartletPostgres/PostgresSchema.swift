import MartletLink

/// The tables of a store in PostgreSQL (Specs/storage.md §6), and the preparation of each session.
enum PostgresSchema {
    /// The version of the tables that this program writes. A program refuses tables of a later version, and tolerates
    /// later additions to its own: relays of two releases use one database while the relays are replaced.
    static let version = 1
    /// The lowest major version of a server.
    static let minServerVersion = 15
    /// The schema, unless the options of the URI set the search path.
    static let defaultName = "martlet"
    /// The key of the advisory lock of migrations: the bytes "MRLS".
    private static let lockKey = 0x4D52_4C53

    /// Plans do not depend on the statistics of tables: each statement finds its rows by an index. A commit is synced,
    /// also if the server does not do so by default. A process that is stopped within a transaction releases its locks
    /// after the duration in milliseconds that is the parameter.
    private static let settings = PostgresStatement(
        "settings",
        """
        SELECT set_config(name, value, false) FROM (VALUES
            ('jit', 'off'), ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'),
            ('plan_cache_mode', 'force_generic_plan'), ('default_transaction_isolation', 'read committed'),
            ('statement_timeout', $1::text), ('idle_in_transaction_session_timeout', $1::text)) AS s(name, value)
        UNION ALL SELECT set_config('synchronous_commit', 'on', false)
            WHERE current_setting('synchronous_commit') = 'off'
        UNION ALL SELECT set_config('search_path', '\(defaultName)', false)
            FROM pg_settings WHERE name = 'search_path' AND source <> 'client'
        """)
    private static let facts = PostgresStatement(
        "facts",
        """
        SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
            current_setting('search_path'), (to_regclass('version') IS NOT NULL)::int::bigint,
            (to_regclass('additions') IS NOT NULL)::int::bigint
        """)
    private static let selectVersion = PostgresStatement("select_version", "SELECT max(number)::bigint FROM version")
    /// The number of the addition with the table `shard`.
    static let shardAddition = 2
    private static let hasRecords =
        "EXISTS (SELECT FROM rooms) OR EXISTS (SELECT FROM roles) OR EXISTS (SELECT FROM memberships)"
    private static let claimPlace = PostgresStatement(
        "claim_place",
        """
        INSERT INTO shard SELECT 1, $1::text, $2::text, $3::text
        WHERE pg_try_advisory_xact_lock_shared(\(lockKey), hashtext(current_schema())) AND NOT (\(hasRecords))
        ON CONFLICT (id) DO NOTHING
        """)
    private static let selectPlace = PostgresStatement(
        "select_place",
        """
        SELECT (\(hasRecords))::int::bigint, own, names, installation
        FROM (VALUES (1)) AS one(id) LEFT JOIN shard USING (id)
        """)
    /// The same without addition 2.
    private static let selectRecords = PostgresStatement(
        "select_records", "SELECT (\(hasRecords))::int::bigint, NULL::text, NULL::text, NULL::text")
    private static let selectAdditions = PostgresStatement(
        "select_additions", "SELECT max(number)::bigint FROM additions")

    /// What a database has.
    struct Found {
        /// The version of the tables; 0 without tables.
        var version = 0
        /// The number of additions; nil without their table.
        var additionCount: Int?
        let schema: String
    }

    /// Locks the database for this session: with other relays that share it, or alone.
    ///
    /// - Throws: `PostgresError.inUse`.
    nonisolated(nonsending) static func lock(
        _ connection: PostgresConnection, isShared: Bool
    ) async throws(PostgresError) {
        let function = isShared ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock"
        let statement = PostgresStatement(
            "lock_store", "SELECT \(function)(\(lockKey), hashtext(current_schema()))::int::bigint")
        guard try await connection.perform([PostgresQuery(statement)])[0].int64(0, 0) == 1 else { throw .inUse }
    }

    /// Checks that the database has kept a place, nil for one that is not one of several. The tables have all
    /// additions.
    ///
    /// - Throws: `PostgresError.wrongShard`, `otherInstallation` or `unclaimed`.
    nonisolated(nonsending) static func check(
        _ place: ShardPlace?, _ connection: PostgresConnection
    ) async throws(PostgresError) {
        let kept = kept(in: try await connection.perform([PostgresQuery(selectPlace)])[0])
        if let refusal = kept.refusal(as: place) { throw refusal }
    }

    /// What a database has kept, also one without tables.
    nonisolated(nonsending) static func kept(_ connection: PostgresConnection) async throws(PostgresError) -> KeptPlace
    {
        let found = try await check(connection)
        guard found.version > 0 else { return KeptPlace() }
        let statement = found.additionCount ?? 0 >= shardAddition ? selectPlace : selectRecords
        return kept(in: try await connection.perform([PostgresQuery(statement)])[0])
    }

    /// A database without rooms keeps a place, unless it has one.
    ///
    /// - Parameter adopts: Whether the place may be that of a different installation with the same names.
    /// - Returns: The place that the database has.
    nonisolated(nonsending) static func claim(
        _ place: ShardPlace, adopts: Bool, _ connection: PostgresConnection
    ) async throws(PostgresError) -> ShardPlace {
        var claim = PostgresQuery(claimPlace)
        for text in [place.own, place.names, place.installation] { claim.add(text) }
        let kept = self.kept(in: try await connection.perform([claim, PostgresQuery(selectPlace)])[1])
        // A relay that does not share the database has it locked.
        guard kept != KeptPlace() else { throw .inUse }
        let refusal = kept.refusal(as: place)
        if adopts, case .otherInstallation? = refusal, let place = kept.place { return place }
        if let refusal { throw refusal }
        return place
    }

    private static func kept(in result: PostgresResult) -> KeptPlace {
        var kept = KeptPlace(hasRecords: result.int64(0, 0) != 0)
        if !result.isNull(0, 1), let own = result.text(0, 1), let names = result.text(0, 2),
            let installation = result.text(0, 3)
        {
            kept.place = ShardPlace(own: own, names: names, installation: installation)
        }
        return kept
    }

    /// The channels of the reports and of the datagrams of other relays.
    nonisolated(nonsending) static func channels(
        _ connection: PostgresConnection
    ) async throws(PostgresError) -> (reports: String, bus: String) {
        let schema = try await check(connection).schema
        return (schema, "\(schema.prefix(PostgresStatements.maxBusChannelPrefix))_bus")
    }

    /// Begins to receive the notifications of both channels. The transactions of the session only notify, so nothing
    /// waits for their durability.
    nonisolated(nonsending) static func listen(
        to channels: (reports: String, bus: String), _ connection: PostgresConnection
    ) async throws(PostgresError) {
        let statements = [
            PostgresStatement("listen", "LISTEN \(channels.reports)"),
            PostgresStatement("listen_bus", "LISTEN \(channels.bus)"),
            PostgresStatement("not_durable", "SET synchronous_commit = off"),
        ]
        _ = try await connection.perform(statements.map { PostgresQuery($0) })
    }

    /// Sets a session up, checks the database, and brings its tables to the newest version.
    ///
    /// - Parameter creates: Whether tables are created if there are none. A store that has been opened does not replace
    ///   tables that were removed.
    nonisolated(nonsending) static func prepare(
        _ connection: PostgresConnection, creates: Bool
    ) async throws(PostgresError) {
        let found = try await check(connection)
        guard creates || found.version > 0 else { throw .missingTables }
        guard found.version < version || found.additionCount ?? 0 < additions.count else { return }
        let begin = [
            PostgresStatement("begin", "BEGIN"),
            PostgresStatement("lock", "SELECT pg_advisory_xact_lock(\(lockKey))"),
        ]
        _ = try await connection.perform(begin.map { PostgresQuery($0) })
        // Another relay may have done it.
        let current = try await check(connection)
        var steps: [String] = []
        if current.version == 0 {
            if try await isMissing(schema: found.schema, connection) { steps.append("CREATE SCHEMA \(found.schema)") }
            steps.append("CREATE TABLE version (number bigint PRIMARY KEY)")
        }
        for (index, migration) in migrations.enumerated().dropFirst(current.version) {
            steps += migration + ["INSERT INTO version VALUES (\(index + 1))"]
        }
        if current.additionCount == nil { steps.append("CREATE TABLE additions (number bigint PRIMARY KEY)") }
        for (index, addition) in additions.enumerated().dropFirst(current.additionCount ?? 0) {
            steps += addition + ["INSERT INTO additions VALUES (\(index + 1))"]
        }
        steps.append("COMMIT")
        let queries = steps.enumerated().map { PostgresQuery(PostgresStatement("step_\($0)", $1)) }
        _ = try await connection.perform(queries)
    }

    /// The versions of the tables.
    ///
    /// - Throws: The reason why the database is not fit for the store.
    nonisolated(nonsending) static func check(_ connection: PostgresConnection) async throws(PostgresError) -> Found {
        var settings = PostgresQuery(settings)
        settings.add("\(connection.serverTimeout.milliseconds)")
        let facts = try await connection.perform([settings, PostgresQuery(Self.facts)])[1]
        let server = Int(facts.int64(0, 0)) / 10_000
        guard server >= minServerVersion else { throw .oldServer(version: server) }
        let encoding = facts.text(0, 1) ?? ""
        guard encoding == "UTF8" else { throw .wrongEncoding(encoding) }
        let schema = facts.text(0, 2) ?? ""
        let isName = schema.utf8.allSatisfy {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                || $0 == UInt8(ascii: "_")
        }
        guard isName, let first = schema.utf8.first, first > UInt8(ascii: "9") else { throw .invalidSchema(schema) }
        var found = Found(schema: schema)
        if facts.int64(0, 3) == 1 {
            found.version = Int(clamping: try await connection.perform([PostgresQuery(selectVersion)])[0].int64(0, 0))
        }
        guard 0...version ~= found.version else { throw .laterSchema(version: found.version) }
        if facts.int64(0, 4) == 1 {
            let count = try await connection.perform([PostgresQuery(selectAdditions)])[0].int64(0, 0)
            found.additionCount = max(0, Int(clamping: count))
        }
        return found
    }

    nonisolated(nonsending) private static func isMissing(
        schema: String, _ connection: PostgresConnection
    ) async throws(PostgresError) -> Bool {
        let statement = PostgresStatement(
            "schema", "SELECT (to_regnamespace('\(schema)') IS NULL)::int::bigint")
        return try await connection.perform([PostgresQuery(statement)])[0].int64(0, 0) == 1
    }

    /// The statements that lead from each version to the next one.
    private static let migrations: [[String]] = [
        [
            """
            CREATE TABLE rooms (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE, log bigint NOT NULL,
                first_offset bigint NOT NULL, last_offset bigint NOT NULL, byte_count bigint NOT NULL,
                folded_offset bigint NOT NULL, used_at bigint NOT NULL, roles_version bigint NOT NULL
            ) WITH (fillfactor = 50)
            """,
            """
            CREATE TABLE batches (
                room bigint NOT NULL, first_offset bigint NOT NULL, count bigint NOT NULL, byte_count bigint NOT NULL,
                accepted_at bigint NOT NULL, writer bytea NOT NULL, number bigint NOT NULL, messages bytea NOT NULL,
                PRIMARY KEY (room, first_offset)
            )
            """,
            "ALTER TABLE batches ALTER COLUMN messages SET STORAGE EXTERNAL",
            """
            CREATE TABLE edits (
                room bigint NOT NULL, account bytea NOT NULL, device bigint NOT NULL, counter bigint NOT NULL,
                "offset" bigint NOT NULL, PRIMARY KEY (room, account, device, counter, "offset")
            )
            """,
            "CREATE INDEX edits_offset ON edits (room, \"offset\")",
            """
            CREATE TABLE devices (
                room bigint NOT NULL, account bytea NOT NULL, device bigint NOT NULL, counter bigint NOT NULL,
                seen bigint NOT NULL, gaps bytea NOT NULL, digests bytea NOT NULL, last_offset bigint NOT NULL,
                used_at bigint NOT NULL, PRIMARY KEY (room, account, device)
            )
            """,
            """
            CREATE TABLE progress (
                room bigint NOT NULL, account bytea NOT NULL, delivered bigint NOT NULL, read bigint NOT NULL,
                PRIMARY KEY (room, account)
            ) WITH (fillfactor = 70)
            """,
            "CREATE TABLE branches (room bigint, log bigint, last_offset bigint NOT NULL, PRIMARY KEY (room, log))",
            """
            CREATE TABLE roles (
                room bytea PRIMARY KEY, roles bytea NOT NULL, creator bytea, version bigint NOT NULL
            )
            """,
            "CREATE INDEX roles_creator ON roles (creator) WHERE creator IS NOT NULL",
            """
            CREATE TABLE memberships (
                account bytea NOT NULL, room bytea NOT NULL, joined bigint NOT NULL, inviter bytea,
                changed_at bigint NOT NULL, PRIMARY KEY (account, room)
            )
            """,
            "CREATE INDEX memberships_room ON memberships (room)",
            "CREATE TABLE clock (id bigint PRIMARY KEY CHECK (id = 1), time bigint NOT NULL, pass_at bigint NOT NULL)",
            saveRoles, renewLogs,
        ]
    ]

    /// Statements that add to the newest version, and that programs without them tolerate: they change no table, column
    /// or function that such a program uses.
    private static let additions: [[String]] = [
        [
            """
            CREATE TABLE retention (
                room bytea PRIMARY KEY, max_age bigint, max_count bigint, max_byte_count bigint,
                CHECK (least(max_age, max_count, max_byte_count) > 0)
            )
            """,
            // The source of which the tables are a copy. A relay removes the row of a complete copy.
            """
            CREATE TABLE copy (
                id bigint PRIMARY KEY CHECK (id = 1), source text NOT NULL, is_complete bigint NOT NULL
            )
            """,
        ],
        // The name of the database among those over which rooms are spread, all their names, and the ID of the
        // installation.
        [
            """
            CREATE TABLE shard (
                id bigint PRIMARY KEY CHECK (id = 1), own text NOT NULL, names text NOT NULL,
                installation text NOT NULL
            )
            """
        ],
        // The key by which the relays of the database authenticate the datagrams of their bus.
        [
            "CREATE TABLE bus (id bigint PRIMARY KEY CHECK (id = 1), key bytea NOT NULL CHECK (length(key) = 32))",
            "INSERT INTO bus VALUES (1, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())))",
        ],
    ]

    /// Keeps roles under a lock of the rooms of their creator. The answers are those of `RolesAnswer`. The row of the
    /// room has the version, too, so that an append waits for a change of the roles, or precedes it.
    private static let saveRoles = """
        CREATE FUNCTION save_roles(
            in_room bytea, in_roles bytea, in_version bigint, in_creator bytea, max_rooms bigint, max_bytes bigint,
            is_repeated bigint
        ) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            old record;
            owner bytea;
            growth bigint;
        BEGIN
            SELECT roles, creator, version INTO old FROM roles WHERE room = in_room FOR UPDATE;
            IF is_repeated = 1 AND old.roles = in_roles AND old.version = in_version + 1 THEN RETURN 0; END IF;
            IF in_creator IS NOT NULL AND old.roles IS NOT NULL THEN RETURN 1; END IF;
            IF coalesce(old.version, 0) <> in_version THEN RETURN 4; END IF;
            owner := coalesce(in_creator, old.creator);
            IF owner IS NOT NULL THEN
                PERFORM pg_advisory_xact_lock(hashtextextended(encode(owner, 'hex'), 0));
            END IF;
            IF in_creator IS NOT NULL AND (SELECT count(*) FROM roles WHERE creator = owner) >= max_rooms THEN
                RETURN 2;
            END IF;
            growth := length(in_roles) - coalesce(length(old.roles), 0);
            IF growth > 0 AND owner IS NOT NULL
                AND (SELECT coalesce(sum(length(roles)), 0) FROM roles WHERE creator = owner) + growth > max_bytes
            THEN
                RETURN 3;
            END IF;
            IF in_creator IS NOT NULL THEN
                INSERT INTO roles VALUES (in_room, in_roles, in_creator, in_version + 1) ON CONFLICT (room) DO NOTHING;
                IF NOT FOUND THEN RETURN 1; END IF;
            ELSE
                INSERT INTO roles VALUES (in_room, in_roles, NULL, in_version + 1)
                    ON CONFLICT (room) DO UPDATE SET roles = excluded.roles, version = excluded.version
                    WHERE roles.version = in_version;
                IF NOT FOUND THEN RETURN 4; END IF;
            END IF;
            UPDATE rooms SET roles_version = in_version + 1 WHERE name = in_room;
            RETURN 0;
        END $$
        """

    /// Gives each log another identity, of which the earlier one is a branch, after a restore.
    private static let renewLogs = """
        CREATE FUNCTION renew_logs() RETURNS bigint LANGUAGE sql AS $$
            INSERT INTO branches SELECT id, log, last_offset FROM rooms
                ON CONFLICT (room, log) DO UPDATE SET last_offset = excluded.last_offset;
            DELETE FROM branches WHERE (room, log) IN (
                SELECT room, log FROM (
                    SELECT room, log, row_number() OVER (PARTITION BY room ORDER BY last_offset DESC) AS place
                    FROM branches) AS ranked
                WHERE place > 16);
            UPDATE rooms SET log = ('x' || encode(substr(sha256(
                uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint;
            SELECT count(*) FROM rooms
        $$
        """
}
