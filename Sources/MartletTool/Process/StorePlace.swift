import MartletPostgres
import MartletRelaySQLite
import MartletToolSupport

/// Where rooms are kept: the values of `serve --store`, and the places of a copy.
enum StorePlace: Sendable {
    case directory(String)
    /// A database with all rooms, by its URI.
    case database(String)
    /// Databases with their names, over which the rooms are spread.
    case databases([(name: String, uri: String)])

    /// - Throws: `UsageError` for texts that are no place together.
    init(_ texts: [String], of option: String) throws(UsageError) {
        let named = texts.compactMap { Self.named($0) }
        if texts.count == 1, named.isEmpty {
            let text = texts[0]
            // A mistyped URI may have a password, which the path of a directory would show in errors.
            guard PostgresStore.isURI(text) || !text.drop(while: { $0 != ":" }).hasPrefix("://") else {
                throw UsageError(message: "'\(option)' is a directory, postgres://USER@HOST/DATABASE, or NAME=URI")
            }
            self = PostgresStore.isURI(text) ? .database(text) : .directory(text)
            return
        }
        guard named.count == texts.count else {
            throw UsageError(message: "each of several '\(option)' has the form NAME=postgres://USER@HOST/DATABASE")
        }
        do throws(PostgresError) { _ = try RoomShards(named.map { $0.name }) } catch {
            throw UsageError(message: "'\(option)': \(error)")
        }
        self = .databases(named)
    }

    /// The name and the URI in a text NAME=URI.
    private static func named(_ text: String) -> (name: String, uri: String)? {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, !PostgresStore.isURI(text), PostgresStore.isURI(parts[1]) else { return nil }
        return (parts[0], parts[1])
    }

    /// The directory; nil for databases.
    var directory: String? { if case .directory(let path) = self { path } else { nil } }

    /// Checks that the databases are reachable and fit.
    func check() async throws {
        switch self {
        case .directory: break
        case .database(let uri): try await PostgresStore.check(uri, isAlone: true)
        case .databases(let databases): try await PostgresShards.check(databases)
        }
    }
}
