import Foundation
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelaySQLite

@Suite struct StoreWriterTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func fill(_ store: StoreFile, _ offsets: ClosedRange<UInt64>, at time: UInt64 = 1000) throws {
        _ = try store.load(.lobby)
        for offset in offsets { _ = try store.append(entries(offset...offset, at: time), to: .lobby) }
    }

    //
    @Test func `more messages or bytes than the bounds -> the oldest are removed, and the offsets stay`() throws {
        var retention = StoreRetention()
        retention.maxMessagesPerRoom = 10
        let store = try folder.store(retention)
        try fill(store, 1...25)
        var history = try store.read(.all, of: .lobby)
        #expect(history.firstOffset == 16 && history.offsets == Array(16...25))
        retention.maxByteCountPerRoom = 50
        let smaller = try folder.store(retention)
        #expect(try smaller.append(entries(26...26), to: .lobby) == 22)
        history = try smaller.read(.all, of: .lobby)
        #expect(history.offsets == Array(22...26))
    }

    //
    @Test func `messages beyond their age -> removed in steps, and the last offset stays`() throws {
        var retention = StoreRetention()
        retention.maxAge = 100
        let store = try folder.store(retention)
        try fill(store, 1...600, at: 1000)
        _ = try store.append(entries(601...601, at: 1500), to: .lobby)
        var steps = 1
        while try !store.writer.removeOld(at: 1550) { steps += 1 }
        #expect(steps == 3)
        #expect(try store.read(.all, of: .lobby).offsets == [601])
        while try !store.writer.removeOld(at: 1700) {}
        let snapshot = try store.load(.lobby)
        #expect(snapshot.firstOffset == 602 && snapshot.lastOffset == 601)
        #expect(try store.append(entries(602...602, at: 1700), to: .lobby) == 602)
    }

    //
    @Test func `more bytes in all rooms than the bound -> the least recently used room loses its oldest`() throws {
        var retention = StoreRetention()
        retention.maxByteCount = 150
        let store = try folder.store(retention)
        try fill(store, 1...10, at: 1000)
        _ = try store.load(.attic)
        for offset in 1...10 as ClosedRange<UInt64> {
            _ = try store.append(entries(offset...offset, at: 2000), to: .attic)
        }
        while try !store.writer.removeOld(at: 3000) {}
        #expect(try store.read(.all, of: .lobby).offsets == Array(6...10))
        #expect(try store.read(.all, of: .attic).offsets == Array(1...10))
    }

    // Specs/hostile.md row 62
    @Test func `a device without messages is kept for its lifetime, and with messages as long as they are`() throws {
        var retention = StoreRetention()
        retention.maxMessagesPerRoom = 2
        let store = try folder.store(retention)
        let end = 1000 + DeviceRecord.lifetime
        try fill(store, 1...1, at: 1000)
        _ = try store.append(entries(2...2, of: "bob", at: 1000), to: .lobby)
        while try !store.writer.removeOld(at: end + 1) {}
        #expect(try store.load(.lobby).devices.count == 2)
        _ = try store.append(entries(3...3, of: "bob", at: 1001), to: .lobby)
        while try !store.writer.removeOld(at: end) {}
        #expect(try store.load(.lobby).devices.count == 2)
        while try !store.writer.removeOld(at: end + 1) {}
        #expect(try store.load(.lobby).devices.keys.map(\.account.text) == ["bob"])
    }

    //
    @Test func `a device whose last message is kept -> kept, also after its lifetime`() throws {
        var retention = StoreRetention()
        retention.maxMessagesPerRoom = 2
        let store = try folder.store(retention)
        _ = try store.load(.lobby)
        // Three rows, of which the first one is removed at once.
        _ = try store.append(entries(1...3, at: 1000, byteCount: 40_000), to: .lobby)
        #expect(try store.load(.lobby).firstOffset == 2)
        while try !store.writer.removeOld(at: 1001 + DeviceRecord.lifetime) {}
        #expect(try store.load(.lobby).devices.count == 1)
        _ = try store.append(entries(4...4, of: "bob", at: 1000), to: .lobby)
        _ = try store.append(entries(5...5, of: "bob", at: 1000), to: .lobby)
        while try !store.writer.removeOld(at: 1001 + DeviceRecord.lifetime) {}
        #expect(try store.load(.lobby).devices.keys.map(\.account.text) == ["bob"])
    }

    //
    @Test func `counters that were skipped -> not taken after a restart, and taken once later`() throws {
        var store = try folder.store()
        _ = try store.load(.lobby)
        _ = try store.append(entries(1...1, counter: 4), to: .lobby)  // 5
        _ = try store.append(entries(2...2, counter: 6), to: .lobby)  // 8
        store = try folder.store()
        func taken() throws -> [UInt64] {
            let record = try #require(store.load(.lobby).devices[device()])
            return (1...9).filter { record.contains($0) }
        }
        let skipped = try taken()
        #expect(skipped.contains(5) && skipped.contains(8) && !skipped.contains(6) && !skipped.contains(7))
        _ = try store.append(entries(3...3, counter: 3), to: .lobby)  // 6
        store = try folder.store()
        #expect(try taken() == (skipped + [6]).sorted())
    }

    //
    @Test func `a room that is trimmed between two appends -> the first kept offset and the bytes are right`() throws {
        var retention = StoreRetention()
        retention.maxAge = 100
        let store = try folder.store(retention)
        try fill(store, 1...5, at: 1000)
        while try !store.writer.transaction({ try store.writer.removeOld(at: 2000) }) {}
        #expect(try store.append(entries(6...6, at: 2000), to: .lobby) == 6)
        let rooms = try store.writer.database.prepare("SELECT first_offset, byte_count FROM rooms")
        #expect(try rooms.step() && rooms.int64(0) == 6 && rooms.int64(1) == 10)
        rooms.reset()
    }

    //
    @Test func `an unused room without messages is removed, and its next log has another identity`() throws {
        let store = try folder.store()
        let log = try store.load(.lobby).log
        #expect(try store.load(.lobby).log == log)
        while try !store.writer.removeOld(at: 1000 + StoreRetention.emptyRoomLifetime) {}
        #expect(try store.load(.lobby).log == log)
        while try !store.writer.removeOld(at: 1001 + StoreRetention.emptyRoomLifetime) {}
        #expect { try store.append(entries(1...1), to: .lobby) } throws: { "\($0)" == "logLost" }
        #expect(try store.load(.lobby).log != log)
    }

    @Test func `a large append -> rows of 64 KiB, and a read decodes only the rows that it needs`() throws {
        let store = try folder.store()
        _ = try store.load(.lobby)
        _ = try store.append(entries(1...100, byteCount: 10_000), to: .lobby)
        let rows = try store.writer.database.prepare("SELECT max(count), count(*) FROM batches")
        #expect(try rows.step())
        #expect(rows.int64(0) == 6 && rows.int64(1) == 17)
        rows.reset()
        #expect(
            try store.read(ReadRange(from: 50, maxCount: 3, maxByteCount: .max), of: .lobby).offsets == [50, 51, 52])
    }

    //
    @Test func `a damaged page of a room's messages -> reported once, and the other rooms are trimmed`() async throws {
        let rooms = [RoomName.attic, .lobby, RoomName("hall")]
        do {
            let store = try folder.store()
            for (number, room) in rooms.enumerated() {
                _ = try store.load(room)
                for offset in 1...90 as ClosedRange<UInt64> {
                    var entry = entries(offset...offset)
                    entry[0].body = EncodedBody([UInt8](repeating: UInt8(0xA0 + number), count: 600))
                    _ = try store.append(entry, to: room)
                }
            }
            try store.writer.saveExpiryTime(5000)
        }
        var data = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))
        // A page in the middle of the room's messages, without messages of other rooms.
        let pages = (0..<data.count / 4096).filter { page in
            let bytes = data[page * 4096..<(page + 1) * 4096]
            return [0xA0, 0xA1, 0xA2].map { bytes.range(of: Data(repeating: $0, count: 200)) != nil }
                == [false, true, false]
        }
        let start = pages[pages.count / 2] * 4096
        data.replaceSubrange(start..<start + 8, with: Data(count: 8))
        try data.write(to: URL(fileURLWithPath: folder.storePath))
        var retention = StoreRetention()
        (retention.maxAge, retention.maxByteCount) = (100, 1000)
        let events = Guarded<[String]>([])
        let store = try await SQLiteStore(at: folder.path, retention, wallClock: { 5000 }) { event in
            events.withLock { $0.append("\(event)") }
        }
        for _ in 0..<2 { await store.removeOld(steady: .now) }
        let damage = StoreEvent.retentionFailed(StoreError.damaged(.lobby, offset: 0))
        #expect(events.withLock { $0 } == ["\(damage)"])
        #expect(try await store.load(.attic).firstOffset == 91)
        #expect(try await store.load(rooms[2]).firstOffset == 91)
        await store.close()
    }

    //
    @Test(arguments: [
        "first_offset = last_offset + 2", "first_offset = 0", "last_offset = last_offset - 1",
        "last_offset = -1", "byte_count = -1", "used_at = -1",
    ])
    func `row 63, a damaged row of a room -> its load fails, and the others are read and trimmed`(
        damage: String
    ) throws {
        var retention = StoreRetention()
        retention.maxAge = 100
        let store = try folder.store(retention)
        try fill(store, 1...5)
        _ = try store.load(.attic)
        _ = try store.append(entries(1...1), to: .attic)
        try store.writer.database.execute("UPDATE rooms SET \(damage) WHERE name = 'lobby'")
        #expect(throws: StoreError.self) { _ = try store.load(.lobby) }
        while try !store.writer.removeOld(at: 5000) {}
        #expect(try store.load(.attic).firstOffset == 2)
    }
}
