/// An error of a store in PostgreSQL.
public enum PostgresError: Error, Equatable, Sendable {
    /// The text is not a URI of a database, or names an unknown option. The reason has no part of the URI.
    case invalidURI(String)
    /// The database cannot be reached, does not answer in time, or cannot serve a statement now. The text is that of
    /// libpq or of the server.
    case unavailable(String)
    /// The database refuses a statement, with its code (SQLSTATE) and text.
    case refused(code: String, String)
    /// The major version of the server is below the lowest one that is supported.
    case oldServer(version: Int)
    /// The encoding of the database is not UTF8.
    case wrongEncoding(String)
    /// The search path is not the name of one schema, of lower-case letters, digits and underscores.
    case invalidSchema(String)
    /// Another relay uses the database, and one of the two does not share it.
    case inUse
    /// The tables have been removed since the store was opened.
    case missingTables
    /// The names of databases over which rooms are to be spread are not valid.
    case invalidShards(String)
    /// The database was used as one of other databases, or under another name; or it has rooms that are not spread.
    /// Without names, nil, it is not one of several.
    case wrongShard(found: String?, given: String?)
    /// The database was never used, and others with these names were.
    case unclaimed(given: String)
    /// The database was used as one of other databases with the same names.
    case otherInstallation(given: String)
    /// A database has a room that belongs to a different one of the databases.
    case misplaced(room: String)
    /// A later version of Martlet has changed the tables.
    case laterSchema(version: Int)
    /// Too many calls wait for the database, or calls with too many bytes.
    case overloaded
    /// The messages of an append do not follow the room's last offset.
    case outOfOrder(lastOffset: UInt64)
    /// A room's messages from this offset on, or other rows of it, are damaged. The other rooms are served.
    case damaged(room: String, offset: UInt64)
    /// The store is closed.
    case closed
}

extension PostgresError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .invalidURI(let text): "not a URI of a database: \(Self.line(text))"
        case .unavailable(let text): "the database does not answer: \(Self.line(text))"
        case .refused(let code, let text): "the database refuses a statement with \(code): \(Self.line(text))"
        case .oldServer(let version):
            "the server is PostgreSQL \(version); upgrade it to \(PostgresSchema.minServerVersion) or later"
        case .wrongEncoding(let name):
            "the encoding of the database is \(name); create it by: createdb --encoding=UTF8 --template=template0 NAME"
        case .invalidSchema(let name):
            "the search path '\(name)' is not the name of one schema; give options=-csearch_path%3DNAME in the URI"
        case .inUse: "another relay uses the database; several relays need the option --shared, each of them"
        case .missingTables: "the tables were removed; restore them, or restart the relay to create empty ones"
        case .invalidShards(let text): "rooms cannot be spread over the databases: \(text)"
        case .wrongShard(let found?, let given?):
            "the database was used as \(found), and not as \(given); give the names with which it was used first, or "
                + dropAdvice
        case .wrongShard(let found?, nil):
            "the database was used as \(found); give all of these with their names, NAME=URI"
        case .wrongShard: "the database has rooms that are not spread; spread them by 'martlet store copy'"
        case .unclaimed(let given):
            "the database was never used as \(given), unlike others with these names; give the one that was used, or "
                + "restore its backup"
        case .otherInstallation(let given):
            "the database was used as \(given) beside other databases than these; give those with which it was used "
                + "first, or " + dropAdvice
        case .misplaced(let room): "room \(room) is not in the database to which its name belongs; move or remove it"
        case .laterSchema(let version):
            "the tables have version \(version), and this program knows \(PostgresSchema.version); upgrade Martlet"
        case .overloaded: "too many calls wait for the database"
        case .outOfOrder(let lastOffset): "the messages do not follow the room's last offset \(lastOffset)"
        case .damaged(let room, let offset): "room \(room) is damaged from offset \(offset) on; restore a backup"
        case .closed: "the store is closed"
        }
    }

    /// The way out of starts with names that were wrong.
    private var dropAdvice: String { "remove its tables by DROP SCHEMA … CASCADE if it has no rooms" }

    private static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { $0.drop { $0 == "\t" || $0 == " " } }.joined(separator: "; ")
    }

    /// Whether the statement can succeed on another connection, or later.
    var isTransient: Bool {
        switch self {
        case .unavailable: true
        case .refused(let code, _): Self.isTransient(code: code)
        default: false
        }
    }

    /// Whether the cause is the statement, or a resource that it needs, and not the connection.
    var isOfStatement: Bool {
        guard case .refused(let code, _) = self else { return false }
        return !Self.isTransient(code: code) || code.hasPrefix("53") || code.hasPrefix("40") || code == "55P03"
            || code == "57014"
    }

    /// Codes of the classes connection, resources, intervention of an operator, and of single conditions: a transaction
    /// that was rolled back for another, a lock that was not granted in time, a server that has become a standby.
    private static func isTransient(code: String) -> Bool {
        ["08", "53", "57"].contains(code.prefix(2)) || ["40001", "40P01", "55P03", "25006", "25P03"].contains(code)
    }
}

/// An event of a store in PostgreSQL.
public enum PostgresEvent: Sendable {
    /// The database has become unreachable or read-only. Calls wait.
    case lost(PostgresError)
    /// The database answers, and can be written, again after this duration.
    case recovered(after: Duration)
    /// Calls have failed that have waited for the longest duration, or until the relay ended. The messages among them
    /// were not accepted; their clients still have them.
    case abandoned(callCount: Int, messageCount: Int)
    /// The wall clock is behind the latest time in the database by this number of milliseconds, or has jumped by it.
    case clockJumped(milliseconds: Int64)
    /// The removal of old messages failed; it is repeated later.
    case retentionFailed(any Error)
}
