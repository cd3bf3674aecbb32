import Foundation
import MartletToolTestSupport
import Testing

@testable import MartletTransport

@Suite struct FolderFilesTests {
    private func read(
        _ folder: String, entries: Int = 100, bytes: Int = 1_000, depth: Int = 4
    ) throws -> [RelativePath: String] {
        let found = try FolderFiles(below: folder, maxEntryCount: entries, maxByteCount: bytes, maxDepth: depth)
        return found.files.mapValues { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `canonically equivalent paths -> different files`() {
        let (composed, decomposed): (RelativePath, RelativePath) = ("\u{E9}", "e\u{301}")
        #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
    }

    private func write(_ text: String, _ path: String) throws {
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    // C-131
    @Test func `files, dotfiles, links and a pipe in folders -> the files alone`() throws {
        try withTemporaryFolder { folder in
            try withTemporaryFolder { outside in
                try write("secret", "\(outside)/secret.txt")
                try write("page", "\(folder)/index.html")
                try write("", "\(folder)/empty.txt")
                try write("inner", "\(folder)/a/b/c.txt")
                try write("hidden", "\(folder)/.env")
                try write("hidden", "\(folder)/.git/config")
                let files = FileManager.default
                for (name, target) in [
                    ("link.txt", "\(outside)/secret.txt"), ("folder", outside), ("own.html", "index.html"),
                    ("gone", "/nowhere"),
                ] {
                    try files.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
                }
                let isPiped = unsafe mkfifo("\(folder)/pipe", 0o600) == 0
                #expect(isPiped)
                let expected: [RelativePath: String] = ["index.html": "page", "empty.txt": "", "a/b/c.txt": "inner"]
                #expect(try read(folder) == expected)
                // The folder itself may be a link.
                try files.createSymbolicLink(atPath: "\(outside)/current", withDestinationPath: folder)
                #expect(try read("\(outside)/current") == expected)
            }
        }
    }

    // C-131, Specs/hostile.md row 131
    @Test func `as much as the bounds permit -> all of it; more -> the failure that names the bound`() throws {
        try withTemporaryFolder { folder in
            try write("12345", "\(folder)/a/b/one")
            try write("67890", "\(folder)/two")
            #expect(try read(folder, entries: 4, bytes: 10, depth: 3).count == 2)
            #expect(throws: FolderFiles.Failure.tooManyEntries) { try read(folder, entries: 3) }
            #expect(throws: FolderFiles.Failure.tooManyBytes) { try read(folder, bytes: 9) }
            #expect(throws: FolderFiles.Failure.tooDeep(path: "a/b")) { try read(folder, depth: 2) }
        }
    }

    @Test func `no folder, and a file in place of it -> unreadable`() throws {
        try withTemporaryFolder { folder in
            try write("", "\(folder)/file")
            for (name, number) in [("none", ENOENT), ("file", ENOTDIR)] {
                #expect(throws: FolderFiles.Failure.unreadable(path: "", FileError("open", number))) {
                    try read("\(folder)/\(name)")
                }
            }
        }
    }
}
