import Foundation
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

@Suite struct StoreCopyTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() async throws -> (store: SQLiteStore, events: [StoreEvent]) {
        let events = Guarded<[StoreEvent]>([])
        let store = try await SQLiteStore(at: folder.path) { event in events.withLock { $0.append(event) } }
        return (store, events.withLock { $0 })
    }

    /// Puts a file in the place of another file.
    private func copy(_ from: String, to target: String) throws {
        try Data(contentsOf: URL(fileURLWithPath: from)).write(to: URL(fileURLWithPath: target))
    }

    //
    @Test func `a copy in place of the store, twice -> another log with a branch for each earlier one`() async throws {
        var logs: [LogID] = []
        for round in 0..<3 as Range<UInt64> {
            let (store, events) = try await open()
            if round > 0 {
                guard case .copyOpened(roomCount: 2, foreignLog: nil) = events.first else {
                    Issue.record("\(events)")
                    return
                }
            }
            let snapshot = try await store.load(.lobby)
            let expected = zip(logs, 1...).map { ($0, UInt64($1)) }
            #expect(snapshot.branches == Dictionary(uniqueKeysWithValues: expected))
            logs.append(try #require(snapshot.log))
            _ = try await store.load(.attic)
            _ = try await store.append(entries(round + 1...round + 1), to: .lobby)
            try StoreContents(path: folder.storePath).backUp(to: folder.file("copy-\(round)"))
            _ = try await store.append(entries(round + 2...round + 9), to: .lobby)
            await store.close()
            try copy(folder.file("copy-\(round)"), to: folder.storePath)
        }
        #expect(Set(logs).count == 3)
    }

    //
    @Test func `a copy beside the log of a store that was killed -> the log is renamed, and not applied`() async throws
    {
        let killed = try TemporaryFolder()
        var store: StoreFile? = try killed.store()
        let log = try store?.load(.lobby).log
        _ = try store?.append(entries(1...20), to: .lobby)
        try StoreContents(path: killed.storePath).backUp(to: killed.file("copy"))
        for offset in 21...60 as ClosedRange<UInt64> { _ = try store?.append(entries(offset...offset), to: .lobby) }
        let wal = try Data(contentsOf: URL(fileURLWithPath: killed.storePath + "-wal"))
        store = nil
        try wal.write(to: URL(fileURLWithPath: folder.storePath + "-wal"))
        try copy(killed.file("copy"), to: folder.storePath)
        #expect(throws: DatabaseError.corrupt(path: folder.storePath + "-wal")) {
            try StoreContents(path: folder.storePath)
        }
        let (again, events) = try await open()
        guard case .copyOpened(roomCount: 1, let aside?) = events.first else {
            Issue.record("\(events)")
            return
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == wal)
        #expect(try await again.load(.lobby).branches == [#require(log): 20])
        #expect(try await again.read(.all, of: .lobby).offsets == Array(1...20))
        await again.close()
        let (third, none) = try await open()
        #expect(none.isEmpty)
        await third.close()
    }

    //
    @Test func `a room of more branches than its maximum -> the highest ones are kept`() throws {
        let copy = try StoreImport(path: folder.storePath, isBranching: false)
        try copy.add(.room(.lobby, log: LogID(rawValue: 1), firstOffset: 1, usedAt: 1))
        try copy.add(.messages(entries(1...30)))
        for number in 2...30 as ClosedRange<UInt64> { try copy.add(.branch(LogID(rawValue: number), upTo: number)) }
        try copy.endRoom()
        #expect(try folder.store().load(.lobby).branches.values.sorted() == Array(15...30))
    }
}
