import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletRelaySQLite

//
@Suite struct StoreImportTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A description of everything in a store.
    private func contents(_ path: String) throws -> [String] {
        var lines: [String] = []
        try StoreContents(path: path).forEachRecord { record in
            if case .messages(let entries) = record {
                lines += entries.map { "\($0.offset) \($0.sender) \($0.device) \($0.counter) \($0.body.bytes)" }
            } else {
                lines.append("\(record)")
            }
        }
        return lines
    }

    private func fill() throws {
        var retention = StoreRetention()
        retention.maxMessagesPerRoom = 5
        let store = try folder.store(retention)
        for room in [RoomName.lobby, .attic] {
            _ = try store.load(room)
            for offset in 1...9 as ClosedRange<UInt64> {
                _ = try store.append(entries(offset...offset, device: offset, counter: 7), to: room)
            }
            try store.saveProgress([AccountName("bob"): AccountProgress(delivered: 8, read: 2)], of: room)
        }
        _ = try store.load(RoomName("empty"))
        try store.writer.database.execute(
            "INSERT INTO roles VALUES ('lobby', x'010203', 'alice'), ('cellar', x'', NULL)")
    }

    @Test func `all parts of a store -> a store with the same contents`() throws {
        try fill()
        let copy = try StoreImport(path: folder.file("copy"), isBranching: false)
        try StoreContents(path: folder.storePath).forEachRecord { try copy.add($0) }
        try copy.endRoom()
        #expect(try contents(folder.file("copy")) == contents(folder.storePath))
        #expect(try contents(folder.storePath).count == 3 + 2 * (5 + 9 + 1) + 2)
    }

    //
    @Test func `a room that may have later messages elsewhere -> another log, with branches up to its last offset`()
        throws
    {
        let (log, first) = (LogID(rawValue: 7), LogID(rawValue: 6))
        let copy = try StoreImport(path: folder.storePath, isBranching: true)
        try copy.add(.room(.lobby, log: log, firstOffset: 1, usedAt: 1))
        try copy.add(.messages(entries(1...4)))
        try copy.add(.branch(first, upTo: 3))
        try copy.endRoom()
        let snapshot = try folder.store().load(.lobby)
        #expect(snapshot.log != log && snapshot.branches == [first: 3, log: 4])
        try copy.add(.room(.attic, log: log, firstOffset: 1, usedAt: 1))
        #expect(throws: StoreError.invalidRecord) { try copy.add(.branch(first, upTo: 1)) }
        copy.discardRoom()
    }

    @Test func `a room that the store has -> roomExists, and the store is unchanged`() throws {
        try fill()
        let before = try contents(folder.storePath)
        let copy = try StoreImport(path: folder.storePath, isBranching: true)
        try copy.add(.room(RoomName("new"), log: LogID(rawValue: 1), firstOffset: 1, usedAt: 1))
        try copy.add(.messages(entries(1...2)))
        copy.discardRoom()
        #expect(throws: StoreError.roomExists(.lobby)) {
            try copy.add(.room(.lobby, log: LogID(rawValue: 1), firstOffset: 1, usedAt: 1))
        }
        copy.discardRoom()
        #expect(try contents(folder.storePath) == before)
    }
}
