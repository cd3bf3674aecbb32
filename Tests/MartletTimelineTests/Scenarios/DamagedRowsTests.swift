import Martlet
import MartletDatabase
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Damaged rows of a timeline", .timeLimit(.minutes(10)))
struct DamagedRowsTests {
    private let script: TimelineScript
    private let tables: TimelineTables
    private let reader: TimelineReader

    init() async throws {
        script = try await TimelineScript()
        let reference = script.reference(1)
        try await script.apply(
            script.text(1, "one"), script.text(2, "C++", by: "ada"), .gap(3...5),
            script.body(6, .reaction("!", to: reference, isRemoved: false)),
            script.body(7, .edit(of: script.reference(2, "ada"), text: "two"), by: "ada"))
        let stamp = RelayStamp(offset: 9, acceptedAt: 1, sender: AccountName("bob"), device: DeviceID(rawValue: 7))
        let entry = RoomEntry(
            room: RoomName("a"), membership: .joined, log: TimelineScript.log, lastOffset: 9,
            message: Message(counter: 9, content: MessageContent(text: "last"), relay: stamp).encode())
        try await script.timeline.apply(.changed(try #require(RoomSummary(bytes: RoomUpdate(entry).encode()))))
        try await script.timeline.add(script.id(8, "ada"), MessageContent(text: "own"), in: "a")
        await script.timeline.close()
        let path = script.timeline.path
        tables = try TimelineTables(
            try Database(path: path), lock: try FileLock(path: path + "-lock", of: path), account: AccountName("ada"),
            aside: nil)
        reader = try TimelineReader(tables.database, account: AccountName("ada"))
    }

    /// Reads and changes the room in a transaction, which is rolled back. An operation may throw the errors of a
    /// database, and never traps.
    private func use(_ sql: String, _ bind: (Statement) -> Void = { _ in }) throws {
        let database = tables.database
        try database.execute("BEGIN")
        defer { try? database.execute("ROLLBACK") }
        let statement = try database.prepare(sql)
        bind(statement)
        do { try statement.run() } catch { return }
        let operations: [() throws -> Void] = [
            { _ = try reader.list() },
            { for entry in try reader.page(of: "a", before: nil, limit: 9) { _ = entry.reference } },
            { _ = try reader.window(WindowRequest(room: "a", first: nil, last: nil, limit: 9)) },
            { _ = try reader.cursor(of: "a") }, { _ = try reader.readCursor(of: "a") },
            { _ = try reader.unsettled(in: "a") }, { _ = try reader.search("C++", in: "a", limit: 9) },
            { _ = try reader.entry(acceptedFrom: 1, in: "a") },
            { try tables.apply([script.text(10, "ten"), .gap(11...12)], in: "a") { _ in false } },
            {
                let part = HistoryPart(messages: [], offsets: 3...4, log: TimelineScript.log)
                _ = try tables.apply(part, in: "a") { _ in false }
            },
            {
                let own = script.id(8, "ada")
                let steps: [OutgoingStep] = [.settle(own, .accepted(offset: 8), log: LogID(rawValue: 3))]
                try tables.perform(steps, in: "a", time: 1) { _ in false }
            },
            { _ = try tables.markRead(upTo: RoomCursor(log: TimelineScript.log, offset: 2), in: "a") },
        ]
        for operation in operations {
            try database.execute("SAVEPOINT operation")
            do { try operation() } catch { #expect(error is DatabaseError) }
            try database.execute("ROLLBACK TO operation; RELEASE operation")
        }
    }

    @Test(arguments: [
        "room": ["log", "generation", "cursor", "read_generation", "read_position", "membership"],
        "log": ["identity", "generation"],
        "entry": [
            "generation", "position", "device", "counter", "accepted_at", "kind", "state", "is_read", "failure",
            "failure_code", "flags",
        ],
        "change": [
            "device", "counter", "target_device", "target_counter", "generation", "position", "effect", "is_waiting",
        ],
    ])
    func `each bit of each number is flipped → a typed error or another value`(table: String, columns: [String]) throws
    {
        for column in columns {
            for bit in 0..<64 as Range<Int64> {
                let mask = Int64(bitPattern: 1 << UInt64(bit))
                try use("UPDATE \(table) SET \(column) = (coalesce(\(column), 0) | ?1) - (coalesce(\(column), 0) & ?1)")
                {
                    $0.bind(1, mask)
                }
            }
        }
    }

    @Test(arguments: [("entry", "content"), ("room", "summary")])
    func `each bit of each content is flipped → a typed error or another content`(table: String, column: String) throws
    {
        let select = try tables.database.prepare("SELECT rowid, \(column) FROM \(table) WHERE \(column) IS NOT NULL")
        var rows: [(Int64, [UInt8])] = []
        while try select.step() { rows.append((select.int64(0), select.bytes(1))) }
        for (id, bytes) in rows {
            for bit in 0..<bytes.count * 8 {
                var flipped = bytes
                flipped[bit / 8] ^= 1 << UInt8(bit % 8)
                try use("UPDATE \(table) SET \(column) = ?1 WHERE rowid = ?2") {
                    $0.bind(1, flipped)
                    $0.bind(2, id)
                }
            }
        }
    }

    @Test(arguments: [("room", "name"), ("entry", "sender"), ("change", "sender"), ("change", "slot")])
    func `a name that is not valid → a typed error or nothing`(table: String, column: String) throws {
        for name in ["", "\u{0}", String(repeating: "a", count: 4096), "a\u{202E}b"] {
            try use("UPDATE OR IGNORE \(table) SET \(column) = ?1") { $0.bind(1, name) }
        }
    }
}
