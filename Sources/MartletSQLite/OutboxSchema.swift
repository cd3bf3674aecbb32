import MartletDatabase

/// The tables of an outbox.
enum OutboxSchema {
    /// The states of a message in the column `state`.
    static let pending: Int64 = 0
    static let inFlight: Int64 = 1
    static let accepted: Int64 = 2
    static let failed: Int64 = 3

    /// "MlOb" in ASCII.
    static let migrations = Migrations(applicationID: 0x4D6C_4F62, steps: [first, second, third, fourth, fifth, sixth])

    /// Times are in milliseconds since 1970, durations in milliseconds. Only accepted messages have no content.
    private static let first = """
        CREATE TABLE property (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE message (
            counter INTEGER PRIMARY KEY, sender TEXT NOT NULL, room TEXT NOT NULL, state INTEGER NOT NULL,
            kind INTEGER NOT NULL, content BLOB, lifetime INTEGER, expires_at INTEGER,
            is_compressible INTEGER NOT NULL, settled_at INTEGER, offset INTEGER,
            failure INTEGER, failure_code INTEGER, failure_reason TEXT);
        CREATE INDEX message_settled ON message (state, settled_at) WHERE state >= 2;
        CREATE TABLE cursor (room TEXT PRIMARY KEY, log INTEGER, offset INTEGER NOT NULL) WITHOUT ROWID;
        """

    /// The time of the first hand-over of a message, and the order in which cursors were used.
    private static let second = """
        ALTER TABLE message ADD COLUMN in_flight_at INTEGER;
        UPDATE message SET in_flight_at = 1000 * CAST(strftime('%s', 'now') AS INTEGER) WHERE state = 1;
        ALTER TABLE cursor ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
        """

    private static let third = """
        \(OwnerTable.schema)
        INSERT INTO owner SELECT sender FROM message ORDER BY counter DESC LIMIT 1;
        """

    /// The device of a message that was settled before the device ID was replaced; NULL is the current one.
    private static let fourth = "ALTER TABLE message ADD COLUMN device INTEGER;"
    /// The path of a file that is uploaded before the message is published (M-26).
    private static let fifth = "ALTER TABLE message ADD COLUMN file TEXT;"
    /// Batches of recorded points (C-115).
    private static let sixth = """
        CREATE TABLE points (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, content BLOB NOT NULL);
        """
}
