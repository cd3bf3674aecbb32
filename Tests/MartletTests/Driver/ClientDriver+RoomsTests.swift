import MartletLink
import MartletWire
import Testing

@testable import Martlet

@Suite("The rooms of a driver", .timeLimit(.minutes(10)))
struct ClientDriverRoomsTests {
    /// Runs a client that may open one room and has no relay.
    private func withOneRoom(
        _ outbox: InMemoryOutbox = InMemoryOutbox(), _ body: (Client) async throws -> Void
    ) async throws {
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        configuration.maxRooms = 1
        try await withClient(
            "alice", at: "martlet://127.0.0.1:1", outbox: outbox, configuration: configuration, body)
    }

    @Test func `a room beyond maxRooms → tooManyRooms; it opens after the other one was closed`() async throws {
        try await withOneRoom { client in
            let room = try await client.open(room: "a", options: .offline)
            await #expect(throws: MartletError.tooManyRooms(limit: 1)) {
                try await client.open(room: "b", options: .offline)
            }
            await room.close()
            _ = try await client.open(room: "b", options: .offline)
        }
    }

    @Test func `a room beyond maxRooms with messages of an earlier client → tooManyRooms`() async throws {
        let outbox = InMemoryOutbox()
        try await withOneRoom(outbox) { client in
            _ = try await client.open(room: "c", options: .offline).send("waiting")
        }
        try await withOneRoom(outbox) { client in
            let room = try await client.open(room: "a", options: .offline)
            await #expect(throws: MartletError.tooManyRooms(limit: 1)) {
                try await client.open(room: "c", options: .offline)
            }
            await room.close()
            let other = try await client.open(room: "c", options: .offline)
            #expect(other.pending.count == 1)
        }
    }
}
