import Martlet
import MartletRelay
import Testing

@Suite("First message of a room", .timeLimit(.minutes(10)))
struct HistoryTests {
    /// Creates a room with twenty messages: "1" at offset 1 and so on.
    private func withHistory(_ store: InMemoryStore = InMemoryStore(), _ body: (String) async throws -> Void)
        async throws
    {
        try await withRelay(store: store) { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby")
                for number in 1...20 { try await lobby.send("\(number)") }
            }
            try await body(relay)
        }
    }

    private func offsets(_ from: Room.Options.From, at relay: String, count: Int) async throws -> [UInt64] {
        try await withClient("bob", at: relay) { bob in
            let lobby = try await bob.open(room: "lobby", options: Room.Options(from: from))
            #expect(lobby.lastOffset == 20)
            #expect(lobby.firstOffset == 1)
            return try await lobby.messages.first(count).map(\.offset)
        }
    }

    @Test func `the options start, cursor and latest determine the first message`() async throws {
        try await withHistory { relay in
            let cases: [(Room.Options.From, ClosedRange<UInt64>)] = [
                (.start, 1...20), (.cursor(15), 16...20), (.latest(count: 3), 18...20), (.latest(count: 100), 1...20),
                (.stored, 1...20),
            ]
            for (from, expected) in cases {
                let received = try await offsets(from, at: relay, count: expected.count)
                #expect(received == Array(expected))
            }
        }
    }

    @Test func `the option stored continues after the messages that an earlier client has handled`() async throws {
        try await withHistory { relay in
            let outbox = InMemoryOutbox()
            var seen: [UInt64] = []
            for _ in 1...3 {
                try await withClient("bob", at: relay, outbox: outbox) { bob in
                    let lobby = try await bob.open(room: "lobby")
                    // The fifth message is handled when the next one is requested.
                    seen += try await lobby.messages.first(6).dropLast().map(\.offset)
                }
            }
            #expect(seen == Array(1...15))
            #expect(outbox.open().cursors.mapValues(\.offset) == ["lobby": 15])
        }
    }

    @Test func `the second iteration of a client continues after the first`() async throws {
        try await withHistory { relay in
            try await withClient("bob", at: relay) { bob in
                let lobby = try await bob.open(room: "lobby")
                var seen: [UInt64] = []
                for count in [1, 2, 3, 4, 10] { seen += try await lobby.messages.first(count).map(\.offset) }
                #expect(seen == Array(1...20))
            }
        }
    }

    @Test func `a reopened room continues after the last message`() async throws {
        try await withHistory { relay in
            try await withClient("bob", at: relay) { bob in
                var seen: [UInt64] = []
                for _ in 1...3 {
                    let lobby = try await bob.open(room: "lobby")
                    seen += try await lobby.messages.first(6).dropLast().map(\.offset)
                    await lobby.close()
                }
                #expect(seen == Array(1...15))
            }
        }
    }

    @Test func `messages that the relay no longer stores are reported as a gap`() async throws {
        try await withHistory(InMemoryStore(maxMessagesPerRoom: 5)) { relay in
            try await withClient("bob", at: relay) { bob in
                let lobby = try await bob.open(room: "lobby", options: Room.Options(from: .cursor(3)))
                let items = try await lobby.items.first(6)
                guard case .gap(let missing)? = items.first else {
                    Issue.record("no gap but \(items)")
                    return
                }
                #expect(missing == 4...15)
                let offsets = items.dropFirst().map(\.offset)
                #expect(offsets == Array(16...20))
                #expect(lobby.skippedMessages == 12)
            }
        }
    }
}

extension RoomItem {
    fileprivate var offset: UInt64 {
        switch self {
        case .message(let message): message.offset
        case .gap(let offsets): offsets.upperBound
        case .logReplaced(_, let current): current.offset
        }
    }
}
