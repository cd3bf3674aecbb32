import Foundation
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletDatabase
@testable import MartletRelaySQLite
@testable import MartletSQLite

/// The calls of a relay with numbers of peers.
private protocol NumberStore {
    func load(_ room: RoomName) throws -> RoomSnapshot
    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) throws -> UInt64
    func read(_ range: ReadRange, of room: RoomName) throws -> RoomHistory
    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws
    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName>
    func memberships(of account: AccountName, _ read: MembershipRead) throws -> [StoredRoomEntry]
}

extension StoreFile: NumberStore {}
extension InMemoryStore: NumberStore {}

/// The edges of arithmetic as numbers of peers in a store, and as numbers in the rows of an outbox.
@Suite("Numbers in files", .timeLimit(.minutes(10)))
struct StoredNumberTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func entry(_ offset: UInt64, counter: UInt64, device: UInt64, at time: UInt64) -> LogEntry {
        let sender = AccountName("alice")
        let client = Message.encodeClient(counter: counter, kind: .text, content: Message.textContent("hi"))
        let body = Message.encodeRelay(
            offset: offset, acceptedAt: time, sender: sender, device: DeviceID(rawValue: device),
            clientBody: client.rawBytes)
        return LogEntry(
            offset: offset, sender: sender, device: DeviceID(rawValue: device), counter: counter, acceptedAt: time,
            body: EncodedBody(body))
    }

    /// What a relay does with numbers of its peers, and with the time of its clock.
    private func use(_ store: some NumberStore, _ value: UInt64) {
        let bob = AccountName("bob")
        _ = try? store.load(.lobby)
        for (counter, device, time) in [(value, 1, 5), (2, value, 6), (3, 3, value)] as [(UInt64, UInt64, UInt64)] {
            let next = ((try? store.load(.lobby))?.lastOffset ?? 0) + 1
            let erasures = [next - 1, value].map { offset in
                MessageErasure(
                    offset: offset, id: MessageID(sender: "alice", device: DeviceID(rawValue: 1), counter: value))
            }
            let new = [entry(next, counter: max(counter, 1), device: device, at: time)]
            _ = try? store.append(new, erasing: erasures, to: .lobby)
        }
        try? store.saveProgress([bob: AccountProgress(delivered: value, read: value)], of: .lobby)
        let record = MembershipRecord(isJoined: true, changedAt: value)
        _ = try? store.saveMemberships([bob: record], of: .lobby)
        for count in [1, Int.max] {
            _ = try? store.read(ReadRange(from: value, maxCount: count, maxByteCount: count), of: .lobby)
        }
        _ = try? store.memberships(of: bob, .page(after: nil, maxCount: 9))
        _ = try? store.memberships(
            of: bob, .rooms([.lobby: AccountProgress(delivered: value, read: value)]))
        _ = try? store.load(.lobby)
    }

    // Specs/hostile.md row 95
    @Test func `a number of a peer is an edge of arithmetic → the store does not trap`() throws {
        for value in NumberEdges.values(byteCount: 8, near: 5) {
            let path = folder.file("store-\(value)")
            use(try StoreFile(path: path, retention: StoreRetention()) { 1000 }, value)
            // The file is read again, with the clock at the value too.
            let again = try StoreFile(path: path, retention: StoreRetention()) { min(value, UInt64(Int64.max) - 1) }
            use(again, 5)
            _ = try? again.trim(.lobby, before: value)
            try? StoreContents(path: path).check { _ in }
            let memory = InMemoryStore()
            for value in [value, 5] { use(memory, value) }
        }
    }

    /// Does what a client does with the file of an outbox.
    private func useOutbox(_ path: String) throws {
        guard let tables = try? OutboxFile(path: path, options: SQLiteOutbox.Options()).open() else { return }
        let entries = Entries(device: tables.device)
        guard let state = try? tables.load() else { return }
        for room in ["a", "b"] as [RoomName] { _ = try? tables.deadLetters(in: room) }
        let next = state.nextCounter
        let transactions = [
            entries.transaction {
                $0.cursors = ["a": RoomCursor(offset: .max), "c": RoomCursor(offset: 1), "d": RoomCursor(offset: 2)]
            },
            entries.transaction { $0.appended = [entries.entry(next, in: "a")] },
            entries.transaction {
                $0.edits = [OutboxEdit(id: entries.id(1), room: "a", content: MessageContent(text: "new"))]
            },
            entries.transaction { $0.outcomes = [entries.outcome(1, .failed(.expired))] },
            entries.transaction { $0.outcomes = [entries.outcome(next, .accepted(offset: .max))] },
            entries.transaction { $0.device = DeviceID(rawValue: 77) },
        ]
        for transaction in transactions {
            try? tables.database.transaction { try tables.commit(transaction, now: 5000) }
        }
        for entry in state.pending { _ = entry.remainingTime(at: 5000) }
        _ = try? tables.load()
    }

    // C-81
    @Test(arguments: ["message", "cursor", "property"])
    func `a number of a row of an outbox is an edge of arithmetic → it does not trap`(table: String) throws {
        let path = folder.file("outbox")
        do {
            let tables = try OutboxFile(path: path, options: SQLiteOutbox.Options()).open()
            let entries = Entries(device: tables.device)
            let fill = entries.transaction {
                $0.appended = (1...3).map {
                    entries.entry($0, timeToLive: .seconds(9), expiresAt: 9000, inFlightSince: 10)
                }
                $0.outcomes = [
                    entries.outcome(2, .failed(.expired)), entries.outcome(3, .accepted(offset: 3)),
                ]
                $0.cursors = ["a": RoomCursor(log: LogID(rawValue: 6), offset: 3), "b": RoomCursor(offset: 1)]
            }
            try tables.database.transaction { try tables.commit(fill, now: 4000) }
            try tables.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        let original = try Data(contentsOf: URL(fileURLWithPath: path))
        var columns: [String] = []
        do {
            let database = try Database(path: path)
            let select = try database.prepare(
                "SELECT name FROM pragma_table_info('\(table)') WHERE type = 'INTEGER'")
            while try select.step() { columns.append(select.text(0)) }
        }
        #expect(!columns.isEmpty)
        let changed = folder.file("changed")
        for column in columns {
            for value in NumberEdges.values(byteCount: 8, near: 5) {
                for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
                where name.hasPrefix("changed") {
                    try FileManager.default.removeItem(atPath: folder.file(name))
                }
                try original.write(to: URL(fileURLWithPath: changed))
                do {
                    let database = try Database(path: changed)
                    let update = try database.prepare("UPDATE OR IGNORE \(table) SET \(column) = ?1")
                    update.bind(1, value)
                    try update.run()
                    try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                }
                try useOutbox(changed)
            }
        }
    }
}
