import Foundation
import Martlet
import Testing

@testable import MartletDatabase
@testable import MartletTimeline

@Suite("File of a timeline")
struct TimelineFileTests {
    private let ada = AccountName("ada")

    @Test func `a file that is no database → set aside, and an empty one`() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("timeline")
        try Data(repeating: 7, count: 9000).write(to: URL(filePath: path))
        let timeline = try await Timeline(path: path, account: ada)
        let aside = try #require(timeline.setAsidePath)
        #expect(try Data(contentsOf: URL(filePath: aside)).count == 9000)
        #expect(try await timeline.rooms().isEmpty)
        await timeline.close()
    }

    @Test func `a row with a damaged value → corrupt, and the next opening sets the file aside`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a"))
        let path = script.timeline.path
        await script.timeline.close()
        let database = try Database(path: path)
        try database.execute("UPDATE entry SET sender = char(10), text = NULL")
        let timeline = try await Timeline(path: path, account: ada)
        await #expect(throws: DatabaseError.corrupt(path: path)) { try await timeline.page(of: "a") }
        await timeline.close()
        let again = try await Timeline(path: path, account: ada)
        #expect(try await again.page(of: "a").isEmpty && again.setAsidePath != nil)
        await again.close()
    }

    //
    @Test(arguments: [true, false])
    func `a symbolic link to a file in use → locked, also if the file did not exist`(_ exists: Bool) async throws {
        let folder = TemporaryFolder()
        let (path, link) = (folder.file("timeline"), folder.file("link"))
        if exists { await (try Timeline(path: path, account: ada)).close() }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "timeline")
        let timeline = try await Timeline(path: link, account: ada)
        for name in [path, link] {
            await #expect(throws: DatabaseError.locked(path: path)) { try await Timeline(path: name, account: ada) }
        }
        await timeline.close()
    }

    @Test func `a damaged file that was opened by a symbolic link → set aside, and the link remains`() async throws {
        let folder = TemporaryFolder()
        let (path, link) = (folder.file("timeline"), folder.file("link"))
        try Data(repeating: 7, count: 9000).write(to: URL(filePath: path))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let timeline = try await Timeline(path: link, account: ada)
        #expect(timeline.setAsidePath?.hasPrefix(path) == true)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        await timeline.close()
    }

    @Test func `a file of another account → otherAccount, and the file is unchanged`() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("timeline")
        await (try Timeline(path: path, account: ada)).close()
        await #expect(throws: DatabaseError.otherAccount("ada", path: path)) {
            try await Timeline(path: path, account: AccountName("bob"))
        }
        let again = try await Timeline(path: path, account: ada)
        #expect(again.setAsidePath == nil)
        await again.close()
    }

    @Test func `a file of schema 2 → belongs to the account that opens it first`() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("timeline")
        await (try Timeline(path: path, account: ada)).close()
        do {
            let database = try Database(path: path)
            for table in ["entry_text", "entry", "change", "room", "log", "owner"] {
                try database.execute("DROP TABLE \(table)")
            }
            try database.execute("PRAGMA user_version=0; PRAGMA application_id=0")
            try TimelineSchema.migrations.run(on: database, upTo: 2)
        }
        await (try Timeline(path: path, account: AccountName("bob"))).close()
        await #expect(throws: DatabaseError.otherAccount("bob", path: path)) {
            try await Timeline(path: path, account: ada)
        }
    }

    @Test func `a file of a later version or of another application → an error`() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("timeline")
        let timeline = try await Timeline(path: path, account: ada)
        await timeline.close()
        do {
            let database = try Database(path: path)
            try database.execute("PRAGMA user_version=99")
        }
        await #expect(
            throws: DatabaseError.newerSchema(found: 99, known: TimelineSchema.migrations.version, path: path)
        ) {
            try await Timeline(path: path, account: ada)
        }
        do {
            let database = try Database(path: path)
            try database.execute("PRAGMA application_id=1")
        }
        await #expect(throws: DatabaseError.otherFormat(path: path)) {
            try await Timeline(path: path, account: ada)
        }
    }
}
