import Testing

@testable import MartletDatabase

@Suite("Versions of a schema")
struct MigrationsTests {
    private let folder: TemporaryFolder
    private let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = try Database(path: folder.file("a.db"))
    }

    @Test func `an earlier schema → the missing steps only`() throws {
        let first = "CREATE TABLE a (i); INSERT INTO a VALUES (1)"
        try Migrations(applicationID: 7, steps: [first]).run(on: database)
        let both = Migrations(applicationID: 7, steps: [first, "INSERT INTO a VALUES (2)"])
        try both.run(on: database)
        try both.run(on: database)
        #expect(try database.prepare("SELECT group_concat(i) FROM a").firstText() == "1,2")
        #expect(try database.schemaVersion() == 2)
    }

    @Test func `a step that fails → the version before it`() throws {
        let steps = ["CREATE TABLE a (i)", "INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)"]
        #expect(throws: DatabaseError.self) { try Migrations(applicationID: 7, steps: steps).run(on: database) }
        #expect(try database.schemaVersion() == 1)
        #expect(try database.prepare("SELECT count(*) FROM a").firstInt64() == 0)
    }

    @Test(arguments: [0, -3]) func `a version below 1 in a file with tables → corrupt`(version: Int) throws {
        let migrations = Migrations(applicationID: 7, steps: ["CREATE TABLE a (i)"])
        try migrations.run(on: database)
        try database.execute("PRAGMA user_version=\(version)")
        #expect(throws: DatabaseError.corrupt(path: database.path)) { try migrations.run(on: database) }
    }

    @Test func `a later schema → newerSchema; another application's file → otherFormat`() throws {
        try Migrations(applicationID: 7, steps: ["CREATE TABLE a (i)", "CREATE TABLE b (i)"]).run(on: database)
        #expect(throws: DatabaseError.newerSchema(found: 2, known: 1, path: database.path)) {
            try Migrations(applicationID: 7, steps: ["CREATE TABLE a (i)"]).run(on: database)
        }
        #expect(throws: DatabaseError.otherFormat(path: database.path)) {
            try Migrations(applicationID: 8, steps: ["CREATE TABLE a (i)"]).run(on: database)
        }
    }
}
