package import MartletDatabase

/// The tables of a relay's store (Specs/storage.md §1).
package enum StoreSchema {
    /// The name of the file in the store's directory.
    package static let fileName = "rooms.sqlite"
    /// The name of the file that locks the directory.
    package static let lockName = "lock"
    /// The bytes "MRLS" in the header of the file.
    static let applicationID: Int32 = 0x4D52_4C53

    /// The stored form of roles that were lost. It is not valid, so a relay that keeps roles refuses the room.
    static let lostRoles: [UInt8] = [0]
    /// The key of the row that marks the roles of all rooms without a row as lost. The key is not a valid name of a
    /// room.
    static let unknownRolesKey = ""
    /// The condition that selects a room's row of roles. Without such a row it selects the row of `unknownRolesKey`,
    /// which applies to each room without a row.
    static let rolesOfRoom = "room IN (?, '\(unknownRolesKey)') ORDER BY room DESC LIMIT 1"

    /// The first version with membership records.
    static let membershipVersion = 2
    /// The first version with branches.
    static let branchVersion = 3

    /// The maximum number of branches of a room, the earlier logs that the store knows.
    private static let maxBranchCount = 16
    /// The statement that removes the lowest branches of rooms with too many.
    static let trimBranches = """
        DELETE FROM branches WHERE (room, log) IN (
            SELECT room, log FROM (
                SELECT room, log, row_number() OVER (PARTITION BY room ORDER BY last_offset DESC) AS number
                FROM branches)
            WHERE number > \(maxBranchCount))
        """
    /// The first version with the digests of messages.
    static let digestVersion = 4
    /// The first version with the table of edits.
    static let editVersion = 5

    /// The first version with bounds of rooms.
    static let retentionVersion = 6

    /// Changes each page that every new room, or the expiry clock, changes, and takes free pages. The caller rolls the
    /// changes back.
    static let probe = """
        REPLACE INTO rooms VALUES (\(Int64.max), '', 0, 1, 0, 0, 0);
        REPLACE INTO batches VALUES (\(Int64.max), 1, 0, 0, 0, zeroblob(9000));
        REPLACE INTO edits VALUES (\(Int64.max), '', 0, 0, 0);
        REPLACE INTO devices VALUES (\(Int64.max), '', 0, 0, 0, x'', 0, 0, x'');
        REPLACE INTO progress VALUES (\(Int64.max), '', 0, 0);
        REPLACE INTO branches VALUES (\(Int64.max), 0, 0);
        REPLACE INTO memberships VALUES ('', '', 0, NULL, 0);
        REPLACE INTO clock VALUES (1, 0);
        """

    /// Brings a database to the newest version.
    static func migrate(_ database: Database) throws {
        try migrations.run(on: database) { if $0 == editVersion { try EditTable.fill(database) } }
    }

    /// The versions of the schema.
    package static let migrations = Migrations(
        applicationID: applicationID,
        steps: [
            """
            CREATE TABLE rooms (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, log INTEGER NOT NULL,
                first_offset INTEGER NOT NULL, last_offset INTEGER NOT NULL, byte_count INTEGER NOT NULL,
                used_at INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE batches (
                room INTEGER NOT NULL, first_offset INTEGER NOT NULL, count INTEGER NOT NULL,
                byte_count INTEGER NOT NULL, accepted_at INTEGER NOT NULL, messages BLOB NOT NULL,
                PRIMARY KEY (room, first_offset)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE devices (
                room INTEGER NOT NULL, account TEXT NOT NULL, device INTEGER NOT NULL, counter INTEGER NOT NULL,
                seen INTEGER NOT NULL, gaps BLOB NOT NULL, last_offset INTEGER NOT NULL, used_at INTEGER NOT NULL,
                PRIMARY KEY (room, account, device)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE progress (
                room INTEGER NOT NULL, account TEXT NOT NULL, delivered INTEGER NOT NULL, read INTEGER NOT NULL,
                PRIMARY KEY (room, account)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE roles (
                room TEXT PRIMARY KEY, roles BLOB NOT NULL, creator TEXT
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX roles_creator ON roles (creator) WHERE creator IS NOT NULL;
            """,
            """
            CREATE TABLE memberships (
                account TEXT NOT NULL, room TEXT NOT NULL, joined INTEGER NOT NULL, inviter TEXT,
                changed_at INTEGER NOT NULL,
                PRIMARY KEY (account, room)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX memberships_room ON memberships (room);
            """,
            """
            CREATE TABLE branches (
                room INTEGER NOT NULL, log INTEGER NOT NULL, last_offset INTEGER NOT NULL, PRIMARY KEY (room, log)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), time INTEGER NOT NULL) STRICT;
            """,
            "ALTER TABLE devices ADD COLUMN digests BLOB NOT NULL DEFAULT x'';",
            """
            CREATE TABLE edits (
                room INTEGER NOT NULL, account TEXT NOT NULL, device INTEGER NOT NULL, counter INTEGER NOT NULL,
                offset INTEGER NOT NULL,
                PRIMARY KEY (room, account, device, counter, offset)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX edits_offset ON edits (room, offset);
            """,
            """
            CREATE TABLE retention (
                room TEXT PRIMARY KEY, max_age INTEGER, max_count INTEGER, max_byte_count INTEGER
            ) STRICT, WITHOUT ROWID;
            """,
        ])
}
