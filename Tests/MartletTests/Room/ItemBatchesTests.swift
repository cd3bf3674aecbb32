import Martlet
import MartletRelay
import Testing

@Suite("Items in batches", .timeLimit(.minutes(10)))
struct ItemBatchesTests {
    private struct Failure: Error {}

    private func offsets(_ items: [RoomItem]) -> [UInt64] {
        items.compactMap { if case .message(let message) = $0 { message.offset } else { nil } }
    }

    @Test func `a batch that was not stored → in the next iteration again, and its cursor is not stored`() async throws
    {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby")
                for number in 1...6 { _ = try await lobby.send("\(number)").accepted() }
            }
            let outbox = InMemoryOutbox()
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                await #expect(throws: Failure.self) {
                    var stored: [UInt64] = []
                    for try await batch in lobby.itemBatches(maxCount: 2) {
                        if !stored.isEmpty { throw Failure() }
                        stored += offsets(batch)
                    }
                }
                var stored: [UInt64] = []
                for try await batch in lobby.itemBatches(maxCount: 2) {
                    #expect(batch.count <= 2)
                    stored += offsets(batch)
                    if stored.last == 6 { break }
                }
                #expect(stored == Array(stored[0]...6) && stored[0] > 1)
            }
            // The last batch of the second iteration was not followed by another request.
            #expect((outbox.open().cursors["lobby"]?.offset ?? 0) < 6)
        }
    }

    @Test func `a wait for a change of any message → ends with an acceptance, and with the end of the room`()
        async throws
    {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby")
                let version = lobby.messageVersion
                let handle = try await lobby.send("a")
                while true {
                    let seen = lobby.messageVersion
                    guard lobby.progress(of: [handle.id])[handle.id] == .unsettled else { break }
                    await lobby.waitForMessages(after: seen)
                }
                #expect(lobby.progress(of: [handle.id])[handle.id] == .ended(.accepted(offset: 1)))
                #expect(lobby.messageVersion > version)
                #expect(handle.content == nil)
                async let end: Void = lobby.waitForMessages(after: lobby.messageVersion)
                await lobby.close()
                await end
                #expect(lobby.hasEnded)
            }
        }
    }
}
