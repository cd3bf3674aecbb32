import Foundation
import Testing

@testable import MartletDatabase

@Suite("A connection to a database")
struct DatabaseTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.db")
    }

    @Test func `values of each type → the same values`() throws {
        let database = try Database(path: path)
        try database.execute("CREATE TABLE a (i, u, t, b, n, e, z)")
        let insert = try database.prepare("INSERT INTO a VALUES (?, ?, ?, ?, ?, ?, ?)")
        insert.bind(1, Int64.min)
        insert.bind(2, UInt64.max)
        insert.bind(3, "a ß 🐦")
        insert.bind(4, [0, 255] as [UInt8])
        insert.bind(5, nil as String?)
        insert.bind(6, "")
        insert.bind(7, [] as [UInt8])
        try insert.run()
        let row = try database.prepare("SELECT * FROM a")
        #expect(try row.step())
        #expect(row.int64(0) == .min && row.uint64(1) == .max && row.text(2) == "a ß 🐦" && row.bytes(3) == [0, 255])
        #expect(row.isNull(4) && row.optionalText(4) == nil && row.optionalInt64(4) == nil)
        #expect(row.optionalText(5) == "" && !row.isNull(6) && row.bytes(6) == [])
        #expect(try !row.step())
    }

    @Test func `an immutable file, whose name has characters of URIs → its contents, and no file beside it`() throws {
        let path = folder.file("a%20b?c#d.db")
        do {
            let database = try Database(path: path)
            try database.execute("CREATE TABLE a (i); INSERT INTO a VALUES (7)")
        }
        var options = Database.Options()
        (options.isReadOnly, options.isImmutable) = (true, true)
        let database = try Database(path: path, options: options)
        #expect(try database.prepare("SELECT i FROM a").firstInt64() == 7)
        #expect(!FileManager.default.fileExists(atPath: path + "-shm"))
    }

    @Test func `an error in a transaction → nothing of it remains`() throws {
        let database = try Database(path: path)
        try database.execute("CREATE TABLE a (i INTEGER PRIMARY KEY)")
        #expect(throws: DatabaseError.self) {
            try database.transaction {
                try database.execute("INSERT INTO a VALUES (1)")
                try database.execute("INSERT INTO a VALUES (1)")
            }
        }
        #expect(try database.prepare("SELECT count(*) FROM a").firstInt64() == 0)
        #expect(!database.isInTransaction)
    }

    //
    @Test func `a log that grew while a reader was slow → truncated after the reader has ended`() throws {
        func logByteCount() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? 0
        }
        var options = Database.Options()
        options.checkpointPageCount = 10
        let database = try Database(path: path, options: options)
        try database.execute("CREATE TABLE a (b)")
        let reader = try Database(path: path)
        try reader.execute("BEGIN; SELECT * FROM a")
        for _ in 0..<100 { try database.execute("INSERT INTO a VALUES (zeroblob(4096))") }
        #expect(try logByteCount() > 100 * 4096)
        try reader.execute("COMMIT")
        for _ in 0..<20 { try database.execute("INSERT INTO a VALUES (zeroblob(4096))") }
        #expect(try logByteCount() < 30 * 4096)
    }

    @Test func `a second writer during a transaction → locked; a reader → the earlier state`() throws {
        let database = try Database(path: path)
        try database.execute("CREATE TABLE a (i)")
        var options = Database.Options()
        options.busyTimeout = .zero
        let other = try Database(path: path, options: options)
        try database.execute("BEGIN IMMEDIATE; INSERT INTO a VALUES (1)")
        #expect(throws: DatabaseError.locked(path: path)) { try other.execute("INSERT INTO a VALUES (2)") }
        #expect(try other.prepare("SELECT count(*) FROM a").firstInt64() == 0)
        try database.execute("COMMIT")
        #expect(try other.prepare("SELECT count(*) FROM a").firstInt64() == 1)
    }

    @Test func `a file that is no database → corrupt`() throws {
        try Data(repeating: 7, count: 4096).write(to: URL(fileURLWithPath: path))
        #expect(throws: DatabaseError.corrupt(path: path)) { try Database(path: path) }
    }

    @Test func `a missing folder → cannot open`() throws {
        let path = folder.file("none/a.db")
        #expect(throws: DatabaseError.cannotOpen(path: path)) { try Database(path: path) }
    }
}
