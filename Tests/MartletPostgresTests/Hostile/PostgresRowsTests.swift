import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletPostgres

/// Rows that no store writes.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct PostgresRowsTests {
    private let alice = AccountName("alice")
    /// Changes of rows, and whether the room can still be loaded and read.
    private static let changes = [
        "UPDATE rooms SET first_offset = 0", "UPDATE rooms SET last_offset = -1",
        "UPDATE rooms SET last_offset = 9223372036854775807", "UPDATE rooms SET first_offset = 9223372036854775807",
        "UPDATE rooms SET byte_count = -5", "UPDATE rooms SET folded_offset = 77", "UPDATE rooms SET used_at = -1",
        "UPDATE rooms SET last_offset = 3", "UPDATE rooms SET last_offset = 99", "DELETE FROM batches",
        "UPDATE batches SET messages = ''", "UPDATE batches SET messages = set_byte(messages, 9, 77)",
        "UPDATE batches SET count = 1", "UPDATE batches SET count = -7",
        "UPDATE batches SET first_offset = first_offset + 4",
        "UPDATE batches SET first_offset = -9223372036854775808 WHERE first_offset = 1",
        "INSERT INTO devices SELECT id, '\\xff', 1, 1, 1, '', '', 1, 1 FROM rooms",
        "INSERT INTO devices SELECT id, 'x', 1, 1, 1, '\\x01', '', 1, 1 FROM rooms",
        "INSERT INTO devices SELECT id, 'x', 1, 1, 1, '', '\\x01', 1, 1 FROM rooms",
        "INSERT INTO devices SELECT id, 'x', 1, 1, 1, '', '', 1, -1 FROM rooms",
        "INSERT INTO progress SELECT id, 'x', 1, 77 FROM rooms", "INSERT INTO progress SELECT id, '', 1, 1 FROM rooms",
        "INSERT INTO branches SELECT id, 1, 77 FROM rooms",
        "INSERT INTO roles VALUES ('lobby', '', NULL, -1)",
        "INSERT INTO roles VALUES ('lobby', '', NULL, 9223372036854775807)",
        "INSERT INTO memberships VALUES ('alice', 'lobby', 7, NULL, 1)",
        "INSERT INTO memberships VALUES ('\\xff', 'lobby', 1, NULL, 1)",
        "INSERT INTO memberships VALUES ('bob', 'lobby', 1, '\\xff', 1)",
        "INSERT INTO memberships VALUES ('bob', 'lobby', 1, 'al', -1)",
    ]

    //
    @Test(arguments: changes) func `a changed row → typed errors of its room, and other rooms are served`(
        change: String
    ) async throws {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let store = try await PostgresStore.patient(uri)
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...2), to: .lobby)
        _ = try await store.append(entries(3...4, of: "bob"), to: .lobby)
        try await server.sql("SET search_path = martlet; " + change, in: uri)
        await #expect {
            _ = try await store.load(.lobby)
        } throws: { if case .damaged? = ($0 as? RoomStoreError)?.cause as? PostgresError { true } else { false } }
        for offset in [1, 3, 5, .max] as [UInt64] {
            _ = try? await store.read(ReadRange(from: offset, maxCount: 3, maxByteCount: 1000), of: .lobby)
        }
        let joined = MembershipRecord(isJoined: true, changedAt: 1)
        _ = try await store.load(.attic)
        _ = try await store.append(entries(1...1), to: .attic)
        _ = try await store.saveMemberships([alice: joined], of: .attic)
        let rooms = try await store.memberships(of: alice, .page(after: nil, maxCount: 10)).map(\.entry.room)
        #expect(rooms.contains(.attic))
        _ = try? await store.append(entries(5...5), to: .lobby)
        await store.removeOld(steady: .now)
        #expect(try await store.append(entries(2...2), to: .attic) == 1)
        await store.close()
    }

    @Test func `a row in the place of a new batch → the append is refused, and others of the transaction are stored`()
        async throws
    {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let store = try await PostgresStore.patient(uri)
        _ = (try await store.load(.lobby), try await store.load(.attic))
        try await server.sql(
            "INSERT INTO martlet.batches SELECT id, 1, 1, 1, 1, '', 1, '' FROM martlet.rooms WHERE name = 'lobby'",
            in: uri)
        let refused = Task { try await store.append(entries(1...1), to: .lobby) }
        #expect(try await store.append(entries(1...1), to: .attic) == 1)
        await #expect {
            try await refused.value
        } throws: {
            if case .refused(code: "23505", _)? = ($0 as? RoomStoreError)?.cause as? PostgresError {
                true
            } else {
                false
            }
        }
        await store.close()
    }
}
