import Foundation
import MartletProtocol
import MartletRelay
import MartletWire
import Synchronization
import Testing

@testable import MartletSQLite

// R-70, Specs/hostile.md row 29, Specs/hostile.md row 63
@Suite struct StoreSalvageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Fills two rooms, and closes the file, so that the WAL is moved to it.
    private func fill() throws -> LogID? {
        let store = try folder.store()
        _ = try store.load(.lobby)
        let log = try store.load(.attic).log
        for offset in 1...20 as ClosedRange<UInt64> {
            _ = try store.append(entries(offset...offset, byteCount: 2000), to: .lobby)
            _ = try store.append(entries(offset...offset), to: .attic)
        }
        return log
    }

    /// Overwrites bytes of the file where a text stands, or at an offset.
    private func overwrite(at offset: Int? = nil, text: [UInt8] = [], with bytes: [UInt8]) throws {
        var file = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))
        let start = try offset ?? #require(file.range(of: Data(text))).lowerBound
        file.replaceSubrange(start..<start + bytes.count, with: bytes)
        try file.write(to: URL(fileURLWithPath: folder.storePath))
    }

    /// Overwrites bytes of a message in the lobby. A part of it is in another page.
    private func damageMessage() throws {
        let text = entries(13...13, byteCount: 2000)[0].body.bytes.prefix(100)
        try overwrite(text: Array(text), with: [0xFF, 0xFE, 0xFD])
    }

    private func asides() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".corrupt-") }
    }

    private func open() async throws -> (store: SQLiteStore, events: [StoreEvent]) {
        let events = Mutex<[StoreEvent]>([])
        let store = try await SQLiteStore(at: folder.path) { event in events.withLock { $0.append(event) } }
        return (store, events.withLock(\.self))
    }

    @Test func `a damaged header -> the file is set aside, and a new one is used`() async throws {
        _ = try fill()
        try overwrite(at: 0, with: [UInt8](repeating: 0xAA, count: 64))
        let (store, events) = try await open()
        guard case .setAside(let path, 0, _) = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        #expect(try asides().map { folder.file($0) } == [path])
        #expect(try await store.load(.lobby).lastOffset == 0)
        _ = try await store.append(entries(1...1), to: .lobby)
    }

    @Test func `a damaged table of roles -> every room that reads well is saved with its identity`() async throws {
        let log = try fill()
        let page = try #require(
            try folder.store().writer.database.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'roles'")
                .firstInt64())
        try overwrite(at: (Int(page) - 1) * 4096, with: [UInt8](repeating: 0xAA, count: 4096))
        // A bit of a message in the lobby.
        try damageMessage()
        let (store, events) = try await open()
        guard case .setAside(_, 1, 1) = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        let snapshot = try await store.load(.attic)
        #expect(snapshot.log == log && snapshot.lastOffset == 20 && snapshot.devices[device()]?.watermark == 20)
        #expect(try await store.read(.all, of: .attic).offsets == Array(1...20))
        #expect(try await store.load(.lobby).lastOffset == 0)
    }

    @Test func `a damaged message in use -> reads of its room fail there, and other rooms are served`() async throws {
        _ = try fill()
        try damageMessage()
        let (store, events) = try await open()
        #expect(events.isEmpty)
        #expect(
            try await store.read(ReadRange(from: 1, maxCount: 12, maxByteCount: .max), of: .lobby).offsets.count == 12)
        await #expect(throws: StoreError.damaged(.lobby, offset: 13)) { try await store.read(.all, of: .lobby) }
        #expect(try await store.read(.all, of: .attic).offsets == Array(1...20))
        #expect(try await store.append(entries(21...21), to: .attic) == 1)
        await store.close()
        var faults: [String] = []
        try StoreContents(path: folder.storePath).check { faults.append($0) }
        #expect(faults == ["\(StoreError.damaged(.lobby, offset: 13))"])
    }

    @Test func `a crash between the two renames -> the new file is used`() async throws {
        let log = try fill()
        try FileManager.default.moveItem(atPath: folder.storePath, toPath: "\(folder.storePath).partial")
        let (store, _) = try await open()
        #expect(try await store.load(.attic).log == log)
    }
}
