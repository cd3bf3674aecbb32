import Martlet
import MartletRelay
import MartletWire
import Testing

@Suite("Snapshots of a room", .timeLimit(.minutes(10)))
struct SnapshotTests {
    private let alice = AccountName("alice")
    private let bob = AccountName("bob")

    @Test func `the first snapshot is the current state, without an event`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { client in
                let lobby = try await client.open(room: "lobby")
                _ = try await lobby.send("one").accepted()
                var snapshots = lobby.snapshots.makeAsyncIterator()
                let first = await snapshots.next()
                #expect(first == lobby.snapshot)
                #expect(first?.lastOffset == 1)
                #expect(first?.members.map(\.account) == [alice])
                #expect(first?.log != nil)
            }
        }
    }

    @Test func `joining, typing, reading and leaving of a member change the snapshot`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { client in
                let lobby = try await client.open(room: "lobby")
                try await withClient("bob", at: relay) { other in
                    let his = try await other.open(room: "lobby")
                    _ = try await lobby.send("one").accepted()
                    his.setTyping(true)
                    try await lobby.snapshots.first(until: { snapshot in
                        snapshot.members.contains { $0.account == self.bob && $0.isTyping }
                    })
                    _ = try await his.messages.first(1)
                    his.markRead(upTo: 1)
                    #expect(his.snapshot.readOffset == 1)
                    try await lobby.snapshots.first(until: { $0.marks[self.bob]?.read == 1 })
                    await his.close()
                }
                try await lobby.snapshots.first(until: { $0.members.map(\.account) == [self.alice] })
            }
        }
    }

    @Test func `a message that another device has read raises the own read offset`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { phone in
                try await withClient("alice", at: relay) { laptop in
                    let first = try await phone.open(room: "lobby")
                    let second = try await laptop.open(room: "lobby")
                    _ = try await first.send("one").accepted()
                    second.markRead(upTo: 1)
                    try await first.snapshots.first(until: { $0.readOffset == 1 })
                }
            }
        }
    }

    //
    @Test func `a member that is away when a client opens the room is away in its snapshot`() async throws {
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                try await withClient("bob", at: proxy.endpoint) { other in
                    _ = try await other.open(room: "lobby")
                    await proxy.refuse()
                    try await withClient("alice", at: relay) { client in
                        let lobby = try await client.open(room: "lobby")
                        try await lobby.snapshots.first(until: { $0.members.contains { $0.presence == .away } })
                    }
                    await proxy.admit()
                }
            }
        }
    }

    @Test func `the snapshots end with the room`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { client in
                let lobby = try await client.open(room: "lobby")
                async let count = lobby.snapshots.reduce(0) { count, _ in count + 1 }
                await lobby.close()
                #expect(await count >= 1)
                #expect(lobby.snapshot.members.map(\.account) == [alice])
            }
        }
    }
}
