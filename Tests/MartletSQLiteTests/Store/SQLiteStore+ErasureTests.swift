import Foundation
import MartletProtocol
import MartletRelay
import MartletWire
import Testing

@testable import MartletSQLite

/// Erased messages in the files of a store.
@Suite struct SQLiteStoreErasureTests {
    private let folder: TemporaryFolder
    private let secret = "the secret that nobody reads any more"

    init() throws { folder = try TemporaryFolder() }

    private let sender = AccountName("alice")
    private let device = DeviceID(rawValue: 1)

    private func entry(_ offset: UInt64, _ text: String) -> LogEntry {
        let client = Message.encodeClient(counter: offset, kind: .text, content: Message.textContent(text))
        let body = Message.encodeRelay(
            offset: offset, acceptedAt: offset, sender: sender, device: device, clientBody: client.rawBytes)
        return LogEntry(
            offset: offset, sender: sender, device: device, counter: offset, acceptedAt: offset,
            body: EncodedBody(body))
    }

    private func erasure(_ offset: UInt64) -> MessageErasure {
        MessageErasure(offset: offset, id: MessageID(sender: sender, device: device, counter: offset))
    }

    private func texts(_ store: SQLiteStore) async throws -> [String?] {
        try await store.read(.all, of: .lobby).entries.map { entry in
            try Message(parsing: entry.body.rawBytes).text
        }
    }

    /// The names of the files that contain the secret.
    private func filesWithSecret() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            let data = try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
            return data.range(of: Data(secret.utf8)) != nil
        }
    }

    //
    @Test(arguments: [0, 1, 150]) func `an erased message → its text is in no file, the others are unchanged`(
        after count: UInt64
    ) async throws {
        let store = try await SQLiteStore(at: folder.path)
        let log = try await store.load(.lobby).log
        // Batches of one message and of many, with pages that overflow.
        let long = String(repeating: "x", count: 1000)
        for offset in UInt64(1)...40 { _ = try await store.append([entry(offset, long)], to: .lobby) }
        let batch = (UInt64(41)...60).map { entry($0, $0 == 50 ? secret : "line \($0)") }
        _ = try await store.append(batch, to: .lobby)
        if count > 0 { _ = try await store.append((1...count).map { entry(60 + $0, long) }, to: .lobby) }
        #expect(try !filesWithSecret().isEmpty)
        let next = 61 + count
        _ = try await store.append([entry(next, "the deletion")], erasing: [erasure(50)], to: .lobby)
        #expect(await store.truncateLog())
        #expect(try filesWithSecret() == [])
        let found = try await texts(store)
        #expect(found.count == Int(next) && found[49] == nil && found[48] == "line 49" && found[50] == "line 51")
        #expect(try await store.load(.lobby).log == log)
        #expect(try await store.load(.lobby).devices.values.first?.watermark == next)
        await store.close()
        #expect(try filesWithSecret() == [])
    }

    //
    @Test func `erasures of several batches, of none and of others → the named messages only`() async throws {
        let store = try await SQLiteStore(at: folder.path)
        _ = try await store.load(.lobby)
        for start in stride(from: UInt64(1), through: 25, by: 5) {
            _ = try await store.append((start..<start + 5).map { entry($0, "line \($0)") }, to: .lobby)
        }
        let other = MessageErasure(
            offset: 4, id: MessageID(sender: AccountName("bob"), device: device, counter: 4))
        let erasures = [2, 23, 3, 99, 12].map(erasure) + [other]
        let append = RoomAppend(room: .lobby, entries: [entry(26, "last")], erasures: erasures)
        let results = await withCheckedContinuation { done in
            store.append([append]) { done.resume(returning: $0) }
        }
        #expect(try results[0].get() == 1)
        let found = try await texts(store)
        #expect(found.indices.filter { found[$0] == nil } == [1, 2, 11, 22])
    }

    //
    @Test func `an erasure in a damaged batch → the deletion is stored`() async throws {
        let store = try await SQLiteStore(at: folder.path)
        _ = try await store.load(.lobby)
        _ = try await store.append([entry(1, "one")], to: .lobby)
        try await store.writer.perform { try $0.database.execute("UPDATE batches SET messages = x'0102'") }
        _ = try await store.append([entry(2, "two")], erasing: [erasure(1)], to: .lobby)
        #expect(try await store.load(.lobby).lastOffset == 2)
    }
}
