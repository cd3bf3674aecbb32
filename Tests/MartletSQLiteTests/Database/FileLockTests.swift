import Foundation
import MartletTransport
import Testing

@testable import MartletDatabase

//
@Suite struct FileLockTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("lock")
    }

    @Test func `a locked file -> refused until the lock ends, then granted`() throws {
        var lock: FileLock? = try FileLock(path: path, of: "subject")
        #expect(throws: DatabaseError.locked(path: "subject")) {
            try FileLock(path: path, of: "subject", waiting: .zero)
        }
        withExtendedLifetime(lock) {}
        lock = nil
        #expect(throws: Never.self) { try FileLock(path: path, of: "subject") }
    }

    @Test func `a locked file whose lock ends within the wait -> granted`() async throws {
        let lock = Guarded<FileLock?>(try FileLock(path: path, of: "subject"))
        async let next = Task.detached { [path] in try FileLock(path: path, of: "subject", waiting: .seconds(600)) }
            .value
        lock.withLock { $0 = nil }
        _ = try await next
    }

    @Test func `refused locks -> no descriptor of another thread is closed`() async throws {
        let lock = try FileLock(path: path, of: "subject")
        async let closed = Task.detached { (0..<20_000).count { _ in close(dup(1)) != 0 } }.value
        let refusals = await Task.detached { [path] in
            (0..<20_000).count { _ in
                do throws(DatabaseError) { _ = try FileLock(path: path, of: "subject", waiting: .zero) } catch {
                    return true
                }
                return false
            }
        }.value
        #expect(refusals == 20_000)
        #expect(await closed == 0)
        withExtendedLifetime(lock) {}
    }

    // C-106
    @Test func `files of a folder with locks of bytes → each locked once, by any path of the folder`() throws {
        let names = ["a", "b", "caf\u{E9}", "cafe\u{301}", "\u{301}"]
        var locks = try names.map { try FileLock(inFolderOf: folder.file($0)) }
        for name in names {
            #expect(throws: DatabaseError.self) { try FileLock(inFolderOf: folder.file(name)) }
            // The other path has a descriptor of its own, like another process.
            let path = "\(folder.path)/./\(name)"
            #expect(throws: DatabaseError.locked(path: path)) { try FileLock(inFolderOf: path) }
        }
        locks.removeFirst()
        #expect(throws: Never.self) { try FileLock(inFolderOf: "\(folder.path)/./a") }
        #expect(throws: DatabaseError.self) { try FileLock(inFolderOf: "\(folder.path)/./b") }
        withExtendedLifetime(locks) {}
    }

    // C-106
    @Test func `a copy of the file of the locks by the same process → the lock remains`() throws {
        let lock = try FileLock(inFolderOf: path)
        try FileManager.default.copyItem(atPath: folder.path, toPath: folder.path + "-copy")
        try FileManager.default.removeItem(atPath: folder.path + "-copy")
        #expect(throws: DatabaseError.self) { try FileLock(inFolderOf: "\(folder.path)/./lock") }
        withExtendedLifetime(lock) {}
    }

    @Test func `a folder that does not exist → cannotOpen`() {
        let path = folder.file("none/a")
        #expect(throws: DatabaseError.cannotOpen(path: path)) { try FileLock(inFolderOf: path) }
    }
}
