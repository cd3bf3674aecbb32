import Foundation
import MartletToolTestSupport
import Testing

@testable import MartletTransport

@Suite struct RegularFileTests {
    @Test func `bytes are read where they were written, fewer at the end`() throws {
        try withTemporaryFolder { folder in
            let file = try RegularFile("\(folder)/a", .write)
            try file.write([1, 2, 3], at: 5)
            try file.sync()
            #expect(try file.byteCount() == 8)
            #expect(try file.read(10, at: 4) == [0, 1, 2, 3])
            #expect(try file.read(10, at: 9) == [])
            try file.truncate(to: 6)
            #expect(try RegularFile("\(folder)/a", .read).read(10, at: 0) == [0, 0, 0, 0, 0, 1])
        }
    }

    @Test func `a missing file, a link and a second lock are errors`() throws {
        try withTemporaryFolder { folder in
            #expect(throws: FileError.self) { try RegularFile("\(folder)/none", .read) }
            let first = try RegularFile("\(folder)/a", .write)
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/b", withDestinationPath: "\(folder)/a")
            #expect(throws: FileError.self) { try RegularFile("\(folder)/b", .write) }
            #expect(first.lock())
            #expect(try !RegularFile("\(folder)/a", .write).lock())
        }
    }

    @Test func `a folder lists, renames and removes files`() throws {
        try withTemporaryFolder { folder in
            try Folder.create("\(folder)/x")
            try Folder.create("\(folder)/x")
            _ = try RegularFile("\(folder)/x/b", .write)
            _ = try RegularFile("\(folder)/x/a", .write)
            #expect(try Folder.names(in: "\(folder)/x") == ["a", "b"])
            try Folder.rename("\(folder)/x/a", to: "\(folder)/x/b")
            try Folder.sync("\(folder)/x")
            #expect(!Folder.removeIfEmpty("\(folder)/x"))
            try Folder.removeFile("\(folder)/x/b")
            try Folder.removeFile("\(folder)/x/b")
            #expect(Folder.removeIfEmpty("\(folder)/x"))
            #expect(try Folder.names(in: "\(folder)/x") == [])
        }
    }
}
