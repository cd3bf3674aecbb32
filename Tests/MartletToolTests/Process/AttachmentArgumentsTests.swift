import Foundation
import MartletLink
import MartletRelay
import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct AttachmentArgumentsTests {
    private func parse(_ words: [String]) throws -> ParsedArguments {
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    private func key(_ byte: UInt8) throws -> AttachmentKey {
        AttachmentKey(
            room: RoomName("lobby"), account: AccountName("alice"),
            digest: try #require(AttachmentDigest([UInt8](repeating: byte, count: 32))))
    }

    @Test func `off → no store; the bounds of a store are those of the options`() async throws {
        #expect(try await AttachmentArguments.store(parse(["--attachments", "off"]), directory: nil, nil) == nil)
        #expect(throws: UsageError.self) { try parse(["--attachments", "maybe"]) }
        let arguments = try parse([
            "--attachment-size", "4K", "--attachment-quota", "6K", "--attachment-bytes", "1M",
        ])
        let store = try #require(try await AttachmentArguments.store(arguments, directory: nil, nil))
        await #expect(throws: AttachmentFailure.tooLarge) {
            try await store.begin(try key(1), byteCount: 4097, mediaType: nil)
        }
        #expect(try await store.begin(try key(1), byteCount: 4096, mediaType: nil) == 0)
        await #expect(throws: AttachmentFailure.quota) {
            try await store.begin(try key(2), byteCount: 2049, mediaType: nil)
        }
    }

    @Test func `relays that share a database → a folder with a name, or no attachments`() async throws {
        func message(_ isShared: Bool, _ words: String...) throws -> String? {
            let arguments = try parse(words)
            let name = arguments.values["name"]?.first
            do throws(UsageError) {
                try AttachmentArguments.checkUsage(
                    arguments, hasDatabase: true, isShared: isShared, name: name.map { "\($0)" })
            } catch { return error.message }
            return nil
        }
        #expect(try message(false, "--attachment-folder", "x") == nil && message(true) == nil)
        #expect(try message(true, "--attachment-folder", "x", "--name", "one") == nil)
        #expect(try message(true, "--attachment-folder", "x") != nil)
        #expect(try message(true, "--attachments", "on") != nil)
        #expect(throws: UsageError.self) {
            try AttachmentArguments.checkUsage(
                parse(["--attachment-folder", "x"]), hasDatabase: false, isShared: false, name: nil)
        }
        #expect(try await AttachmentArguments.store(parse([]), directory: nil, nil, sharedBy: "one") == nil)
    }

    @Test func `a bucket → its options, and a key, are required; no disk is reserved for it`() async throws {
        func check(_ words: String...) throws {
            try AttachmentArguments.checkUsage(parse(words), hasDatabase: false, isShared: true, name: nil)
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let key = folder.appendingPathComponent("key").path
        try check("--attachment-folder", "s3://files/chat", "--attachment-credentials", key)
        #expect(throws: UsageError.self) { try check("--attachment-folder", "s3://files/chat") }
        #expect(throws: UsageError.self) { try check("--attachment-region", "eu") }
        try Data("aws_access_key_id = A\n".utf8).write(to: URL(fileURLWithPath: key))
        let words = ["--attachment-folder", "s3://Files", "--attachment-credentials", key]
        #expect(try AttachmentArguments.disk(parse(words), directory: nil) == nil)
        await #expect(throws: CommandError.self) { try await AttachmentArguments.check(parse(words)) }
        try Data("aws_access_key_id = A\naws_secret_access_key = B\n".utf8).write(to: URL(fileURLWithPath: key))
        await #expect(throws: UsageError.self) { try await AttachmentArguments.check(parse(words)) }
    }

    @Test func `a reserve of the disk → attachments in the directory of the store are refused`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let arguments = try parse(["--disk-reserve", "1000000G"])
        let disk = AttachmentArguments.disk(arguments, directory: folder.path)
        let store = try #require(try await AttachmentArguments.store(arguments, directory: folder.path, disk))
        await #expect(throws: AttachmentFailure.full) {
            try await store.begin(try key(1), byteCount: 1, mediaType: nil)
        }
        #expect(AttachmentArguments.disk(try parse([]), directory: nil) == nil)
    }
}
