import MartletSQLite

/// The tables of a timeline.
enum TimelineSchema {
    /// The states of an entry.
    static let accepted: Int64 = 0
    static let pending: Int64 = 1
    static let failed: Int64 = 2
    /// A failed message that is being sent again.
    static let retrying: Int64 = 3
    /// A message without an acceptance that is being removed.
    static let removing: Int64 = 4

    /// The bits of the column `flags`.
    static let edited: Int64 = 1
    static let deleted: Int64 = 2
    static let hasReactions: Int64 = 4
    /// The place is that of the outcome. The message from the log replaces place and time.
    static let placedByOutcome: Int64 = 8
    /// The offset of the accepted message is unknown.
    static let withoutOffset: Int64 = 16

    /// The generation of everything that has no offset yet, behind all generations of logs.
    static let pendingGeneration: Int64 = 1 << 62

    /// The kinds of entries other than messages. The kinds of messages are not negative.
    static let gap: Int64 = -1
    static let replacedLog: Int64 = -2

    /// The query of the first position of a generation of a room.
    static let firstPosition = """
        SELECT position FROM entry
        WHERE room = ? AND generation = ? AND kind <> \(replacedLog)
        ORDER BY position LIMIT 1
        """

    /// The effects of changes.
    static let edit: Int64 = 0
    static let deletion: Int64 = 1
    static let reaction: Int64 = 2
    static let removal: Int64 = 3

    /// "MlTl" in ASCII.
    static let migrations = Migrations(applicationID: 0x4D6C_546C, steps: [first, second, OwnerTable.schema])

    /// An entry and a change have a place: the generation of a log of the room, and the offset in it. Logs have
    /// ascending generations. Identities, devices and counters are stored as bits.
    private static let first = """
        CREATE TABLE room (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, log INTEGER, generation INTEGER NOT NULL DEFAULT 0,
            cursor INTEGER NOT NULL DEFAULT 0, read_generation INTEGER NOT NULL DEFAULT 0,
            read_position INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE log (
            room INTEGER NOT NULL, identity INTEGER NOT NULL, generation INTEGER NOT NULL,
            PRIMARY KEY (room, identity)) WITHOUT ROWID;
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, room INTEGER NOT NULL, generation INTEGER NOT NULL, position INTEGER NOT NULL,
            sender TEXT NOT NULL, device INTEGER NOT NULL, counter INTEGER NOT NULL, accepted_at INTEGER,
            kind INTEGER NOT NULL, content BLOB NOT NULL, text TEXT, state INTEGER NOT NULL, is_read INTEGER NOT NULL,
            failure INTEGER, failure_code INTEGER, failure_reason TEXT, flags INTEGER NOT NULL DEFAULT 0,
            UNIQUE (room, sender, device, counter));
        CREATE INDEX entry_place ON entry (room, generation, position);
        CREATE INDEX entry_unread ON entry (room, generation, position) WHERE is_read = 0;
        CREATE TABLE change (
            room INTEGER NOT NULL, sender TEXT NOT NULL, device INTEGER NOT NULL, counter INTEGER NOT NULL,
            target_sender TEXT NOT NULL, target_device INTEGER NOT NULL, target_counter INTEGER NOT NULL,
            generation INTEGER NOT NULL, position INTEGER NOT NULL, slot TEXT NOT NULL, effect INTEGER NOT NULL,
            text TEXT NOT NULL, is_waiting INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (room, sender, device, counter)) WITHOUT ROWID;
        CREATE INDEX change_target ON change (room, target_sender, target_device, target_counter, generation, position);
        CREATE INDEX change_waiting ON change (room, generation, position) WHERE is_waiting = 1;
        CREATE VIRTUAL TABLE entry_text USING fts5(
            text, room, content='entry', content_rowid='id', tokenize="unicode61 remove_diacritics 2");
        CREATE TRIGGER entry_inserted AFTER INSERT ON entry WHEN new.text IS NOT NULL BEGIN
            INSERT INTO entry_text (rowid, text, room) VALUES (new.id, new.text, new.room);
        END;
        CREATE TRIGGER entry_unindexed AFTER UPDATE OF text ON entry WHEN old.text IS NOT NULL BEGIN
            INSERT INTO entry_text (entry_text, rowid, text, room) VALUES ('delete', old.id, old.text, old.room);
        END;
        CREATE TRIGGER entry_indexed AFTER UPDATE OF text ON entry WHEN new.text IS NOT NULL BEGIN
            INSERT INTO entry_text (rowid, text, room) VALUES (new.id, new.text, new.room);
        END;
        CREATE TRIGGER entry_deleted AFTER DELETE ON entry WHEN old.text IS NOT NULL BEGIN
            INSERT INTO entry_text (entry_text, rowid, text, room) VALUES ('delete', old.id, old.text, old.room);
        END;
        """

    /// Messages by time, and those without an acceptance.
    private static let second = """
        CREATE INDEX entry_time ON entry (room, accepted_at);
        CREATE INDEX entry_unsettled ON entry (room) WHERE state <> 0;
        CREATE INDEX change_unsettled ON change (room) WHERE generation = 4611686018427387904;
        """
}
