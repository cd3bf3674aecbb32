import Foundation
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

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
        #expect(try await store.append([entry(26, "last")], erasing: erasures, to: .lobby) == 1)
        let found = try await texts(store)
        #expect(found.indices.filter { found[$0] == nil } == [1, 2, 11, 22])
    }

    //
    @Test func `a message of which the store has edits from before a restart → their texts are in no file`()
        async throws
    {
        var store = try await SQLiteStore(at: folder.path)
        _ = try await store.load(.lobby)
        _ = try await store.append([entry(1, "one"), entry(2, "two"), edit(3, of: 1, secret)], to: .lobby)
        // More edits than a batch has, beside one of another message.
        _ = try await store.append((UInt64(4)...2000).map { try edit($0, of: 1, "\(secret) \($0)") }, to: .lobby)
        _ = try await store.append([edit(2001, of: 2, "kept")], to: .lobby)
        await store.close()
        #expect(try !filesWithSecret().isEmpty)
        store = try await SQLiteStore(at: folder.path)
        _ = try await store.append([entry(2002, "the deletion")], erasing: [erasure(1)], to: .lobby)
        #expect(await store.truncateLog())
        #expect(try filesWithSecret() == [])
        let erased = try await store.read(.all, of: .lobby).entries.map(isErased)
        #expect(erased.indices.filter { !erased[$0] } == [1, 2000, 2001])
        await store.close()
        try StoreContents(path: folder.storePath).check { Issue.record("\($0)") }
        #expect(try editOffsets() == [2001])
    }

    private func isErased(_ entry: LogEntry) throws -> Bool {
        try Message(parsing: entry.body.rawBytes).content.isErased
    }

    //
    @Test func `an erasure without an offset, one below the first offset → the kept edits are erased`() throws {
        var retention = StoreRetention()
        retention.maxMessagesPerRoom = 2
        let store = try folder.store(retention)
        _ = try store.load(.lobby)
        _ = try store.append([entry(1, "one")], to: .lobby)
        _ = try store.append([edit(2, of: 1, "first"), edit(3, of: 7, "other")], to: .lobby)
        #expect(try store.append([edit(4, of: 1, secret), edit(5, of: 7, secret)], to: .lobby) == 4)
        #expect(try editOffsets() == [2, 3, 4, 5])
        // A pass of the retention removes the rows of messages that are not kept.
        #expect(try store.writer.transaction { try store.writer.removeOld(at: 1000) })
        #expect(try editOffsets() == [4, 5])
        let unknown = MessageErasure(offset: 0, id: erasure(7).id)
        #expect(try store.append([entry(6, "six")], erasing: [erasure(1), unknown], to: .lobby) == 4)
        #expect(try store.read(.all, of: .lobby).entries.map(isErased) == [true, true, false])
        #expect(try editOffsets() == [])
        _ = try store.append([edit(7, of: 1)], to: .lobby)
        try store.remove(.lobby)
        #expect(try editOffsets() == [])
    }

    //
    @Test func `an import, a file of version 4 → the edits are found, and check finds a missing row`() throws {
        do {
            let store = try folder.store()
            _ = try store.load(.lobby)
            _ = try store.append([entry(1, "one"), edit(2, of: 1), entry(3, "three"), edit(4, of: 1)], to: .lobby)
            _ = try store.load(.attic)
            _ = try store.append([edit(1, of: 9)], to: .attic)
        }
        let copy = try StoreImport(path: folder.file("copy"), isBranching: false)
        try StoreContents(path: folder.storePath).forEachRecord { try copy.add($0) }
        try copy.endRoom()
        #expect(try editOffsets("copy") == [1, 2, 4])
        let old = try Database(path: folder.storePath)
        try old.execute("DELETE FROM edits WHERE offset = 4")
        var faults: [String] = []
        try StoreContents(path: folder.storePath).check { faults.append($0) }
        #expect(faults == ["\(StoreError.damaged(.lobby, offset: 4))"])
        try old.execute("DROP TABLE edits; DROP TABLE retention; PRAGMA user_version=4")
        try StoreContents(path: folder.storePath).check { Issue.record("\($0)") }
        _ = try folder.store()
        #expect(try editOffsets() == [1, 2, 4])
        try StoreContents(path: folder.storePath).check { Issue.record("\($0)") }
    }

    /// The offsets in the table of edits.
    private func editOffsets(_ name: String = StoreSchema.fileName) throws -> [Int64] {
        let select = try Database(path: folder.file(name)).prepare("SELECT offset FROM edits ORDER BY offset")
        var offsets: [Int64] = []
        while try select.step() { offsets.append(select.int64(0)) }
        return offsets
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
