/// The versions of a schema: an ordered list of steps, each of which leads from one version to the next.
///
/// A step is never changed after a release. The schema version is the number of steps that a file has taken.
package struct Migrations: Sendable {
    /// The number in the file's header that distinguishes this schema from those of other files.
    private let applicationID: Int32
    /// The SQL statements of each step.
    private let steps: [String]

    package init(applicationID: Int32, steps: [String]) {
        self.applicationID = applicationID
        self.steps = steps
    }

    /// The version that this list leads to.
    package var version: Int { steps.count }

    /// Brings a database to the newest version, each step in a transaction of its own.
    ///
    /// - Parameter completing: the part of a step that is not SQL, with the version that the step leads to.
    /// - Throws: `newerSchema` if the file has taken more steps, `otherFormat` if it is not a file of this schema.
    package func run(on database: Database, completing: (Int) throws -> Void = { _ in }) throws {
        try run(on: database, upTo: version, completing: completing)
    }

    /// Brings a database to a version.
    func run(on database: Database, upTo last: Int, completing: (Int) throws -> Void = { _ in }) throws {
        try check(database)
        for version in try database.schemaVersion()..<last {
            try database.transaction {
                try database.execute(steps[version])
                try completing(version + 1)
                try database.execute("PRAGMA application_id=\(applicationID); PRAGMA user_version=\(version + 1)")
            }
        }
    }

    /// Checks that the steps can be taken, without changing the database.
    package func check(_ database: Database) throws(DatabaseError) {
        let found = try database.schemaVersion()
        let id = try database.prepare("PRAGMA application_id").firstInt64() ?? 0
        let isEmpty = try database.prepare("SELECT count(*) FROM sqlite_master").firstInt64() == 0
        let isNew = found == 0 && id == 0 && isEmpty
        guard isNew || id == Int64(applicationID) else { throw .otherFormat(path: database.path) }
        guard isNew || found > 0 else { throw .corrupt(path: database.path) }
        guard found <= steps.count else {
            throw .newerSchema(found: found, known: steps.count, path: database.path)
        }
    }
}
