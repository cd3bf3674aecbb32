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

    @Test func `a lock whose descriptor has a copy, as in a child process at its start → ends with the object`() throws
    {
        try withTemporaryFolder { folder in
            let path = "\(folder)/a"
            var file: RegularFile? = try RegularFile(path, .write)
            #expect(file?.lock() == true)
            var (named, found) = (stat(), stat())
            #expect(unsafe lstat(path, &named) == 0)
            let copies = (0..<4096 as Range<Int32>)
                .filter {
                    unsafe fstat($0, &found) == 0 && found.st_dev == named.st_dev && found.st_ino == named.st_ino
                }
                .map { dup($0) }
            defer { for copy in copies { close(copy) } }
            #expect(copies.count == 1)
            #expect(try !RegularFile(path, .write).lock())
            file = nil
            #expect(try RegularFile(path, .write).lock())
        }
    }

    @Test func `a named pipe and a folder in the place of a file are errors`() throws {
        try withTemporaryFolder { folder in
            #expect(unsafe mkfifo("\(folder)/pipe", 0o600) == 0)
            #expect(throws: FileError.self) { try RegularFile("\(folder)/pipe", .read) }
            #expect(throws: FileError.self) { try RegularFile(folder, .read) }
        }
    }

    @Test(arguments: [1 << 63 - 1, 1 << 63, .max] as [UInt64])
    func `a position beyond the numbers of the system is an error`(position: UInt64) throws {
        try withTemporaryFolder { folder in
            let file = try RegularFile("\(folder)/a", .write)
            #expect(throws: FileError.self) { try file.write([1, 2], at: position) }
            if position > 1 << 63 - 1 {
                #expect(throws: FileError.self) { try file.read(1, at: position) }
                #expect(throws: FileError.self) { try file.truncate(to: position) }
            }
        }
    }

    @Test func `a rename that cannot be made durable is an error`() async {
        await #expect(processExitsWith: .success) {
            try withTemporaryFolder { folder in
                _ = try RegularFile("\(folder)/a", .write)
                // The rename needs no descriptor, and the sync of the folder does.
                var limit = rlimit()
                #expect(unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0)
                let permitted = limit.rlim_cur
                limit.rlim_cur = 3
                #expect(unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0)
                #expect(throws: FileError.self) { try Folder.rename("\(folder)/a", to: "\(folder)/b") }
                limit.rlim_cur = permitted
                #expect(unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0)
            }
        }
    }

    @Test func `a file that is renamed or removed has its new name only`() throws {
        try withTemporaryFolder { folder in
            let file = try RegularFile("\(folder)/a", .write)
            #expect(try file.isNamed("\(folder)/a"))
            try Folder.rename("\(folder)/a", to: "\(folder)/b")
            #expect(try !file.isNamed("\(folder)/a"))
            #expect(try file.isNamed("\(folder)/b"))
            try Folder.removeFile("\(folder)/b")
            #expect(try !file.isNamed("\(folder)/b"))
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
