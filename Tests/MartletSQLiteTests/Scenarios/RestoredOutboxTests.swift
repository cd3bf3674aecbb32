import Foundation
import MartletLink
import MartletWire
import Testing

@testable import Martlet
@testable import MartletDatabase
@testable import MartletSQLite

/// Clients with the file of an outbox that was restored or copied.
@Suite("A restored file of an outbox", .timeLimit(.minutes(10)))
struct RestoredOutboxTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("outbox")
    }

    private func send(_ text: String, at relay: String) async throws -> MessageID {
        try await withClient("alice", at: relay, outbox: path) { alice in
            let handle = try await alice.open(room: "lobby", options: .offline).send(text)
            _ = try await handle.accepted()
            return handle.id
        }
    }

    private func copy(_ source: String, to target: String) throws {
        try? FileManager.default.removeItem(atPath: target)
        try FileManager.default.copyItem(atPath: source, toPath: target)
    }

    // C-103, R-152, Specs/hostile.md row 94
    @Test func `an earlier copy of the file in its place → a new device, and every message in the log`() async throws {
        try await withRelay { relay in
            let first = try await send("one", at: relay)
            try copy(path, to: folder.file("backup"))
            _ = try await send("two", at: relay)
            try copy(folder.file("backup"), to: path)
            let third = try await send("three", at: relay)
            let fourth = try await send("four", at: relay)
            #expect(first.device != third.device && third.device == fourth.device)
            #expect(try await texts(4, in: "lobby", at: relay) == ["one", "two", "three", "four"])
            // Earlier outcomes keep their IDs.
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby")
                #expect(lobby.message(first)?.id == first && lobby.message(third)?.id == third)
            }
        }
    }

    //
    @Test func `an offline message under a counter far below the used ones → in the log, by a later process`()
        async throws
    {
        try await withRelay { relay in
            let first = try await send("first", at: relay)
            try copy(path, to: folder.file("backup"))
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby")
                for number in 1...99 { try await lobby.send("\(number)") }
                _ = try await lobby.send("100").accepted()
            }
            try copy(folder.file("backup"), to: path)
            try await withClient("alice", at: nowhere, outbox: path) { alice in
                _ = try await alice.open(room: "lobby", options: .offline).send("offline")
            }
            // Early frames can overtake the message, which the end of the client waits for.
            _ = try await send("last", at: relay)
            let end = try await send("end", at: relay)
            #expect(end.device != first.device)
            let texts = try await texts(103, in: "lobby", at: relay)
            #expect(texts.contains("offline"))
        }
    }

    // C-103
    @Test func `dead letters of a replaced device → their IDs, and retried once`() async throws {
        let outbox = SQLiteOutbox(path: path)
        let entries = Entries(device: try await outbox.open().device)
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1, "a"), entries.entry(2, "b")] })
        try await outbox.commit(entries.transaction { $0.outcomes = [entries.outcome(1, .failed(.expired))] })
        let other = DeviceID(rawValue: 9)
        try await outbox.commit(entries.transaction { $0.device = other })
        // A transaction that was on its way has the former ID.
        try await outbox.commit(entries.transaction { $0.inFlight = ["room": [entries.id(2)]] })
        await outbox.close()
        let state = try await outbox.open()
        #expect(state.device == other)
        #expect(state.pending.map(\.id) == [MessageID(sender: entries.id(2).sender, device: other, counter: 2)])
        let letter = try #require(try await outbox.deadLetters(in: state.outcomes[0].room).first)
        #expect(letter.id == entries.id(1))
        var foreign = letter.id
        foreign.device = other
        try await outbox.commit(entries.transaction { $0.discarded = [foreign] })
        #expect(try await outbox.deadLetters(in: letter.room).count == 1)
        try await outbox.commit(entries.transaction { $0.discarded = [letter.id] })
        #expect(try await outbox.deadLetters(in: letter.room).isEmpty)
        await outbox.close()
    }

    // C-104, Specs/hostile.md row 94
    @Test func `a damaged frame of the log before a later transaction → set aside, and no counter is used again`()
        async throws
    {
        let outbox = SQLiteOutbox(path: path)
        let entries = Entries(device: try await outbox.open().device)
        for counter in 1...5 as ClosedRange<UInt64> {
            try await outbox.commit(entries.transaction { $0.appended = [entries.entry(counter, "\(counter)")] })
        }
        let killed = folder.file("killed")
        for suffix in ["", "-wal"] { try copy(path + suffix, to: killed + suffix) }
        await outbox.close()
        var log = try Data(contentsOf: URL(fileURLWithPath: killed + "-wal"))
        log[32 + 24 + 2000] ^= 1
        try log.write(to: URL(fileURLWithPath: killed + "-wal"))
        let restarted = SQLiteOutbox(path: killed)
        let state = try await restarted.open()
        #expect(restarted.recovery != nil && state.nextCounter > OutboxFile.skippedCount)
        await restarted.close()
    }

    // C-104
    @Test(arguments: [
        "UPDATE property SET value = 2 WHERE name = 'nextCounter'",
        "UPDATE property SET value = -1 WHERE name = 'nextCounter'",
        "UPDATE property SET value = 0 WHERE name = 'device'",
        "DELETE FROM property WHERE name = 'nextCounter'",
        "UPDATE message SET counter = 1 << 62 WHERE counter = 3",
        "UPDATE message SET room = '' WHERE counter = 3",
    ])
    func `a file whose values contradict each other → set aside, and counters above all others`(
        change: String
    ) async throws {
        let outbox = SQLiteOutbox(path: path)
        let entries = Entries(device: try await outbox.open().device)
        try await outbox.commit(
            entries.transaction { transaction in
                transaction.appended = (1...5).map { entries.entry($0, "\($0)") }
            })
        try await outbox.commit(entries.transaction { $0.outcomes = [entries.outcome(5, .accepted(offset: 1))] })
        await outbox.close()
        try Database(path: path).execute(change)
        let state = try await outbox.open()
        #expect(outbox.recovery != nil)
        #expect(state.nextCounter > 5 && state.nextCounter < OutboxTables.maxCounter)
        #expect(state.outcomes.count + state.pending.count >= 3)
        await outbox.close()
        _ = try await outbox.open()
        #expect(outbox.recovery == nil)
        await outbox.close()
    }
}
