import Foundation
import Testing

@testable import MartletDatabase

// C-81, R-70
@Suite struct FileReplacementTests {
    private let folder: TemporaryFolder
    private let replacement: FileReplacement

    init() throws {
        folder = try TemporaryFolder()
        replacement = FileReplacement(path: folder.file("a"))
    }

    private func write(_ names: String...) throws {
        for name in names { try Data(name.utf8).write(to: URL(fileURLWithPath: folder.file(name))) }
    }

    private func files() throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let contents = names.map { FileManager.default.contents(atPath: folder.file($0)) ?? Data() }
        return Dictionary(uniqueKeysWithValues: zip(names, contents.map { String(decoding: $0, as: UTF8.self) }))
    }

    @Test func `a complete copy → in the place of the file, which is renamed with its WAL`() throws {
        try write("a", "a-wal", "a-shm", "a.partial")
        try replacement.replace(at: 5)
        #expect(try files() == ["a": "a.partial", "a.corrupt-5": "a", "a.corrupt-5-wal": "a-wal"])
    }

    @Test func `a complete copy without a file → in its place, and the earlier WAL is renamed`() throws {
        try write("a-wal", "a.partial")
        try replacement.finish(at: 5)
        #expect(try files() == ["a": "a.partial", "a.corrupt-5-wal": "a-wal"])
    }

    @Test func `an incomplete copy, or one beside the file → not used`() throws {
        try write("a.partial", "a.partial-wal")
        try replacement.finish(at: 5)
        #expect(try files().keys.sorted() == ["a.partial", "a.partial-wal"])
        try write("a")
        replacement.begin()
        try write("a.partial")
        try replacement.finish(at: 5)
        #expect(try files() == ["a": "a", "a.partial": "a.partial"])
    }

    @Test func `a copy without a file system that renames it → the damaged file stays`() throws {
        try write("a")
        #expect(throws: DatabaseError.cannotOpen(path: replacement.path)) { try replacement.replace(at: 5) }
        #expect(try files() == ["a": "a"])
    }

    @Test func `a WAL that cannot be moved to the copy → locked`() throws {
        var options = Database.Options()
        options.busyTimeout = .zero
        let copy = try Database(path: folder.file("b"), options: options)
        try copy.execute("CREATE TABLE t (i)")
        let reader = try Database(path: folder.file("b"), options: options)
        try reader.execute("BEGIN; SELECT * FROM t")
        try copy.execute("INSERT INTO t VALUES (1)")
        #expect(throws: DatabaseError.locked(path: copy.path)) { try FileReplacement.complete(copy) }
        try reader.execute("COMMIT")
        #expect(throws: Never.self) { try FileReplacement.complete(copy) }
    }
}
