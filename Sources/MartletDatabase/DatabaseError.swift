internal import CMartletSQLite
public import MartletWire

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// An error of a database. Each description states the file and what to do.
public enum DatabaseError: Error, Sendable, Equatable {
    /// The file system or a quota has no space left (ENOSPC, EDQUOT). Nothing was stored.
    case full(path: String)
    /// The file or its folder cannot be written to.
    case readOnly(path: String)
    /// The file or its folder cannot be opened.
    case cannotOpen(path: String)
    /// The file is damaged, or no database.
    case corrupt(path: String)
    /// Another object or process uses the file, also after the opening has waited 2 s for its end.
    case locked(path: String)
    /// A read, write or sync failed, with SQLite's extended result code.
    case ioError(code: Int32, path: String)
    /// A later version of this library has written the file.
    case newerSchema(found: Int, known: Int, path: String)
    /// The file is a database of another application, or another file of this library.
    case otherFormat(path: String)
    /// The file belongs to this account, and was opened for another account.
    case otherAccount(AccountName, path: String)
    /// A statement violates a constraint of the schema.
    case constraint(String)
    /// The writer's queue has this many jobs, its maximum.
    case queueFull(limit: Int)
    /// The writer was closed.
    case closed
    /// Any other error, with SQLite's extended result code and its text.
    case other(code: Int32, message: String)

    /// Creates the error for an extended result code.
    init(code: Int32, systemError: Int32, message: String, path: String) {
        let hasNoSpace = systemError == ENOSPC || systemError == EDQUOT
        switch code & 0xFF {
        case SQLITE_FULL: self = .full(path: path)
        case SQLITE_IOERR where hasNoSpace: self = .full(path: path)
        case SQLITE_CANTOPEN where hasNoSpace: self = .full(path: path)
        case SQLITE_READONLY, SQLITE_PERM: self = .readOnly(path: path)
        case SQLITE_CANTOPEN where systemError == EROFS: self = .readOnly(path: path)
        case SQLITE_CANTOPEN: self = .cannotOpen(path: path)
        // A damaged row can state any number of bytes.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_TOOBIG: self = .corrupt(path: path)
        // The module FTS5 reports damage of its tables with the code of errors in statements.
        case SQLITE_ERROR where message.hasPrefix("invalid fts5 file format"): self = .corrupt(path: path)
        case SQLITE_ERROR where message.hasPrefix("vtable constructor failed"): self = .corrupt(path: path)
        case SQLITE_BUSY, SQLITE_LOCKED: self = .locked(path: path)
        case SQLITE_IOERR: self = .ioError(code: code, path: path)
        case SQLITE_CONSTRAINT: self = .constraint(message)
        default: self = .other(code: code, message: message)
        }
    }
}

extension DatabaseError {
    /// Whether the error concerns the contents of a file: damage, or a missing table.
    package var isDamage: Bool {
        switch self {
        case .corrupt: true
        case .other(let code, _): code & 0xFF == SQLITE_ERROR
        default: false
        }
    }

    /// The number of times that damage is found before it counts.
    package static let maxDamageCount = 4

    /// Performs `body` again after damage: SQLite reports a failed read (EIO) as damage.
    package static func confirmingDamage<Value>(_ body: () throws -> Value) throws -> Value {
        for _ in 1..<maxDamageCount { do { return try body() } catch Self.corrupt {} }
        return try body()
    }

    /// Returns the value of `body`; nil for damage. All other errors, such as a full disk, are thrown.
    package static func unlessDamaged<Value>(_ body: () throws -> Value) throws -> Value? {
        do { return try body() } catch let error as DatabaseError where error.isDamage { return nil }
    }
}

extension DatabaseError: CustomStringConvertible {
    /// One sentence about the error, and one about what to do.
    public var description: String {
        switch self {
        case .full(let path): "no space left for \(path); free space on its volume, and try again"
        case .readOnly(let path): "\(path) cannot be written to; check the permissions of the file and its folder"
        case .cannotOpen(let path): "\(path) cannot be opened; check that its folder exists and is accessible"
        case .corrupt(let path): "\(path) is damaged or no database; set it aside, or restore a backup"
        case .locked(let path): "\(path) is in use, by this or another process; close it there, or use another file"
        case .ioError(let code, let path): "a read or write of \(path) failed (SQLite error \(code)); check its volume"
        case .newerSchema(let found, let known, let path):
            "\(path) has schema \(found), this version knows up to \(known); update the application"
        case .otherFormat(let path): "\(path) is the database of another application; use another file"
        case .otherAccount(let account, let path):
            "\(path) belongs to the account \"\(account)\"; use one file for each account"
        case .constraint(let message): "a stored value is not permitted: \(message)"
        case .queueFull(let limit): "\(limit) operations already wait for the database; try again later"
        case .closed: "the database was closed"
        case .other(let code, let message): "SQLite error \(code): \(message)"
        }
    }
}
