import Foundation
import Testing

@testable import MartletDatabase

// R-148, Specs/hostile.md row 89
@Suite struct WriteAheadLogTests {
    private static let frameByteCount = 24 + 4096
    private let folder: TemporaryFolder
    private let path: String
    private let wal: [UInt8]
    /// The index of the frame that ends each transaction.
    private let commits: [Int]

    /// A log of some transactions, of which the longest have several frames.
    init() throws {
        folder = try TemporaryFolder()
        let database = try Database(path: folder.file("db"))
        try database.execute("CREATE TABLE t (x BLOB)")
        for count in [1, 20_000, 10, 9000] {
            try database.execute("INSERT INTO t VALUES (randomblob(\(count)))")
        }
        let log = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("db-wal"))))
        withExtendedLifetime(database) {}
        wal = log
        path = folder.file("copy")
        commits = stride(from: 32, to: log.count, by: Self.frameByteCount).enumerated()
            .filter { log[$0.element + 4..<$0.element + 8].contains { $0 != 0 } }.map(\.offset)
    }

    private var frameCount: Int { (wal.count - 32) / Self.frameByteCount }

    private func isDamaged(_ change: (inout [UInt8]) -> Void) throws -> Bool {
        var log = wal
        change(&log)
        try Data(log).write(to: URL(fileURLWithPath: path + "-wal"))
        return try WriteAheadLog.isDamaged(ofDatabase: path)
    }

    @Test func `an intact log, and no log -> not damaged`() throws {
        #expect(try !WriteAheadLog.isDamaged(ofDatabase: folder.file("none")))
        #expect(commits.count >= 5 && frameCount > commits.count)
        #expect(try !isDamaged { _ in })
        #expect(try !isDamaged { $0 = [] })
    }

    @Test func `a bit in each part of each frame -> damaged, unless the frame is of the last transaction`() throws {
        let last = commits[commits.count - 2]
        for frame in 0..<frameCount {
            // The page number, the commit size, a salt, the checksum, the first and the last byte of the page.
            for byte in [3, 7, 9, 17, 24, Self.frameByteCount - 1] {
                let index = 32 + frame * Self.frameByteCount + byte
                // A frame of the last transaction that claims to end it is followed by others that continue it.
                let isCommitInside = byte == 7 && frame < frameCount - 1
                let expected = frame <= last || isCommitInside
                #expect(try isDamaged { $0[index] ^= 1 } == expected, "frame \(frame), byte \(byte)")
            }
        }
    }

    @Test func `a bit in each byte of the header -> damaged`() throws {
        for index in 0..<32 { #expect(try isDamaged { $0[index] ^= 4 }, "byte \(index)") }
    }

    @Test func `a log that ends anywhere -> not damaged`() throws {
        for frame in 0..<frameCount {
            for byte in [0, 23, 2000] {
                let end = 32 + frame * Self.frameByteCount + byte
                #expect(try !isDamaged { $0 = Array($0[..<end]) })
            }
        }
    }

    @Test func `pages of the last transaction that were not written -> not damaged`() throws {
        for frame in (commits[commits.count - 2] + 1)..<frameCount {
            let start = 32 + frame * Self.frameByteCount
            let zeros = [UInt8](repeating: 0, count: Self.frameByteCount)
            #expect(try !isDamaged { $0.replaceSubrange(start..<start + Self.frameByteCount, with: zeros) })
        }
    }

    @Test func `a log that begins anew over an earlier one -> not damaged`() throws {
        let database = try Database(path: folder.file("other"))
        try database.execute("CREATE TABLE t (x BLOB)")
        for _ in 0..<9 { try database.execute("INSERT INTO t VALUES (randomblob(9000))") }
        try database.execute("PRAGMA wal_checkpoint(RESTART)")
        try database.execute("INSERT INTO t VALUES (1)")
        #expect(try !WriteAheadLog.isDamaged(ofDatabase: folder.file("other")))
        // A header that was not written completely.
        var log = try Data(contentsOf: URL(fileURLWithPath: folder.file("other-wal")))
        withExtendedLifetime(database) {}
        log[20] ^= 1
        log.replaceSubrange(32..<32 + Self.frameByteCount, with: [UInt8](repeating: 0, count: Self.frameByteCount))
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
        #expect(try !WriteAheadLog.isDamaged(ofDatabase: path))
    }
}
