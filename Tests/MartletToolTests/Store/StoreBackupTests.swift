import Foundation
import MartletAuthentication
import MartletDatabase
import MartletLink
import MartletRelay
import MartletRelaySQLite
import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTool

//
@Suite struct StoreBackupTests {
    private let lobby = RoomName("lobby")
    private let ada = AccountName("ada")
    private let bytes = [UInt8](repeating: 7, count: 5000)

    private func run(_ words: String...) throws -> ExitCode {
        var parser = ArgumentParser(for: StoreCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return try StoreCommand.run(arguments)
    }

    private func append(_ offsets: ClosedRange<UInt64>, to directory: String) throws -> RoomSnapshot {
        let store = try StoreFile(path: StoreBackup.rooms(of: directory)) { 5 }
        _ = try store.load(lobby)
        let entries = offsets.map { offset in
            LogEntry(
                offset: offset, sender: ada, device: DeviceID(rawValue: 1), counter: offset, acceptedAt: 5,
                body: EncodedBody([1, 2, 3]))
        }
        _ = try store.append(entries, to: lobby)
        return try store.load(lobby)
    }

    /// Adds a complete attachment, and returns the path of its file.
    private func attach(to directory: String) async throws -> String {
        let stream = DigestStream()
        stream.add(bytes)
        let key = AttachmentKey(room: lobby, account: ada, digest: try #require(AttachmentDigest(stream.finish())))
        let store = try FileAttachmentStore(directory: StoreBackup.attachments(of: directory))
        _ = try await store.begin(key, byteCount: UInt64(bytes.count), mediaType: nil)
        _ = try await store.write([bytes], at: 0, of: key)
        return try #require(files(directory).first)
    }

    private func files(_ directory: String) throws -> [String] {
        let folder = StoreBackup.attachments(of: directory)
        return try AttachmentArchive(directory: folder).files().map { "\(folder)/\($0.path)" }
    }

    private func flip(_ path: String) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        data[4096 + 1234] ^= 1
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test func `a backup of rooms and attachments -> restored with both, and the earlier rooms are kept`() async throws
    {
        try await withFolder { folder in
            let (directory, backup) = ("\(folder)/store", "\(folder)/backup")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let log = try #require(try append(1...4, to: directory).log)
            let file = try await attach(to: directory)
            #expect(try run("backup", directory, backup) == .success)
            #expect(try run("check", backup) == .success)
            #expect(throws: CommandError(.cannotCreate, "\(backup) exists")) { try run("backup", directory, backup) }
            _ = try append(5...9, to: directory)
            try FileManager.default.removeItem(atPath: file)
            #expect(try run("restore", directory, backup) == .success)
            let restored = try StoreFile(path: StoreBackup.rooms(of: directory)) { 5 }.load(lobby)
            #expect(restored.lastOffset == 4 && restored.branches == [log: 4])
            #expect(try run("check", directory) == .success)
            #expect(try files(directory) == [file])
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            let aside = try #require(names.first { $0.contains(".replaced-") && !$0.hasSuffix("-wal") })
            #expect(try StoreFile(path: "\(directory)/\(aside)") { 5 }.load(lobby).lastOffset == 9)
            #expect(try run("restore", "\(folder)/new", backup) == .success)
            #expect(try run("check", "\(folder)/new") == .success)
        }
    }

    @Test func `a damaged attachment -> check and backup report it, and a backup with it is not restored`() async throws
    {
        try await withFolder { folder in
            let (directory, backup) = ("\(folder)/store", "\(folder)/backup")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            _ = try append(1...4, to: directory)
            let file = try await attach(to: directory)
            #expect(try run("backup", directory, backup) == .success)
            try flip(file)
            #expect(try run("check", directory) == .failure)
            #expect(try run("backup", directory, "\(folder)/other") == .failure)
            #expect(try run("check", "\(folder)/other") == .success)
            try flip(try #require(try files(backup).first))
            #expect(throws: CommandError(.dataError, "\(backup) has faults; nothing was restored")) {
                try run("restore", directory, backup)
            }
            #expect(try append(5...5, to: directory).branches.isEmpty)
        }
    }

    @Test func `a store in use, or a backup that does not exist -> an error, and nothing is changed`() throws {
        try withTemporaryFolder { folder in
            let (directory, backup) = ("\(folder)/store", "\(folder)/backup")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            _ = try append(1...4, to: directory)
            #expect(try run("backup", directory, backup) == .success)
            let lock = try SQLiteStore.lock(directory)
            #expect(throws: CommandError(.cannotCreate, "\(DatabaseError.locked(path: directory))")) {
                try run("restore", directory, backup)
            }
            #expect(throws: CommandError.self) { try run("restore", directory, "\(folder)/none") }
            withExtendedLifetime(lock) {}
            #expect(try append(5...5, to: directory).branches.isEmpty)
        }
    }
}
