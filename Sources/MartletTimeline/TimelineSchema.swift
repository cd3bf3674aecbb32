import MartletDatabase

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

    /// The condition for entries that can be the last message of a room (M-28).
    static let isListed = "kind >= 0 AND kind NOT IN (4104, 8193, 12289)"

    /// The relation of the account to a room, as the relay's list states it.
    static let unlisted: Int64 = 0
    static let joined: Int64 = 1
    static let invited: Int64 = 2
    /// The room was in the list, and is no longer.
    static let left: Int64 = 3

    /// The effects of changes.
    static let edit: Int64 = 0
    static let deletion: Int64 = 1
    static let reaction: Int64 = 2
    static let removal: Int64 = 3

    /// Makes the index erase the terms of removed texts at once, where SQLite can. Returns whether it does.
    static func erasesIndex(of database: Database) throws -> Bool {
        guard Database.libraryVersion >= 3_045_000 else { return false }
        let isSet = try database.prepare("SELECT v FROM entry_text_config WHERE k = 'secure-delete'").firstInt64() == 1
        if !isSet {
            try database.execute("INSERT INTO entry_text (entry_text, rank) VALUES ('secure-delete', 1)")
            try database.execute("INSERT INTO entry_text (entry_text) VALUES ('optimize')")
        }
        return true
    }

    /// "MlTl" in ASCII.
    static let migrations = Migrations(
        applicationID: 0x4D6C_546C, steps: [first, second, OwnerTable.schema, fourth, fifth])

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

    /// The rooms of the account's list, and the messages of a room that can be its last one. Commands and system
    /// messages are no longer unread (M-27).
    private static let fourth = """
        ALTER TABLE room ADD COLUMN membership INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE room ADD COLUMN summary BLOB;
        CREATE INDEX entry_listed ON entry (room, generation, position)
            WHERE kind >= 0 AND kind NOT IN (4104, 8193, 12289);
        UPDATE entry SET is_read = 1 WHERE is_read = 0 AND kind IN (4104, 4109);
        """

    /// The terms of a text, if the tokenizer does not find them in the text itself; empty if it does. Rows of earlier
    /// versions have none until they are indexed again.
    ///
    /// One trigger removes the old text before it adds the new one. Two triggers have no specified order, and the
    /// removal would also remove words that the new text keeps.
    private static let fifth = """
        ALTER TABLE entry ADD COLUMN terms TEXT;
        CREATE INDEX entry_without_terms ON entry (id) WHERE terms IS NULL AND text IS NOT NULL;
        DROP TRIGGER entry_inserted;
        DROP TRIGGER entry_unindexed;
        DROP TRIGGER entry_indexed;
        DROP TRIGGER entry_deleted;
        CREATE TRIGGER entry_inserted AFTER INSERT ON entry WHEN new.text IS NOT NULL BEGIN
            INSERT INTO entry_text (rowid, text, room)
                VALUES (new.id, coalesce(nullif(new.terms, ''), new.text), new.room);
        END;
        CREATE TRIGGER entry_reindexed AFTER UPDATE OF text ON entry BEGIN
            INSERT INTO entry_text (entry_text, rowid, text, room)
                SELECT 'delete', old.id, coalesce(nullif(old.terms, ''), old.text), old.room
                WHERE old.text IS NOT NULL;
            INSERT INTO entry_text (rowid, text, room)
                SELECT new.id, coalesce(nullif(new.terms, ''), new.text), new.room WHERE new.text IS NOT NULL;
        END;
        CREATE TRIGGER entry_deleted AFTER DELETE ON entry WHEN old.text IS NOT NULL BEGIN
            INSERT INTO entry_text (entry_text, rowid, text, room)
                VALUES ('delete', old.id, coalesce(nullif(old.terms, ''), old.text), old.room);
        END;
        INSERT INTO entry_text (entry_text) VALUES ('delete-all');
        INSERT INTO entry_text (rowid, text, room) SELECT id, text, room FROM entry WHERE text IS NOT NULL;
        """
}
