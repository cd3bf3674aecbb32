import Martlet
import MartletRelay
import Testing

/// The relay is restarted with an empty store, so that the log of the outbox's cursors is lost.
@Suite("Replaced log", .timeLimit(.minutes(10)))
struct LogLossTests {
    private func say(_ texts: ClosedRange<Int>, at relay: String) async throws {
        try await withClient("bob", at: relay) { bob in
            let lobby = try await bob.open(room: "lobby")
            for number in texts { _ = try await lobby.send("\(number)").accepted() }
        }
    }

    private func items(_ count: Int, at relay: String, _ outbox: InMemoryOutbox) async throws -> [RoomItem] {
        try await withClient("alice", at: relay, outbox: outbox) { alice in
            try await alice.open(room: "lobby").items.first(count)
        }
    }

    //
    @Test func `a stored cursor of a lost log gives logReplaced, then the new log from its first message`() async throws
    {
        let outbox = InMemoryOutbox()
        try await withRelay { relay in
            try await say(1...3, at: relay)
            _ = try await items(3, at: relay, outbox)
        }
        let old = try #require(outbox.open().cursors["lobby"])
        try await withRelay { relay in
            try await say(101...110, at: relay)
            let items = try await items(11, at: relay, outbox)
            guard case .logReplaced(let previous, let current)? = items.first else {
                Issue.record("\(items)")
                return
            }
            #expect(previous == old)
            #expect(current.offset == 0 && current.log != old.log && current.log != nil)
            let texts = items.compactMap { if case .message(let message) = $0 { message.text } else { nil } }
            #expect(texts == (101...110).map { "\($0)" })
            #expect(outbox.open().cursors["lobby"]?.log == current.log)
        }
    }

    //
    @Test func `a cursor of the application continues in its log, and gives logReplaced in another log`() async throws {
        try await withRelay { relay in
            try await say(1...5, at: relay)
            try await withClient("alice", at: relay) { alice in
                let first = try await alice.open(room: "lobby")
                let kept = try #require(try await first.messages.first(3).last).cursor
                await first.close()
                let again = try await alice.open(room: "lobby", options: Room.Options(from: .cursor(kept)))
                #expect(try await again.messages.first(2).map(\.text) == ["4", "5"])
                await again.close()
                let lost = RoomCursor(log: LogID(rawValue: ~(kept.log?.rawValue ?? 0)), offset: 3)
                let anew = try await alice.open(room: "lobby", options: Room.Options(from: .cursor(lost)))
                let current = RoomCursor(log: kept.log, offset: 0)
                #expect(try await anew.items.first(1) == [.logReplaced(previous: lost, current: current)])
                #expect(try await anew.messages.first(5).map(\.text) == ["1", "2", "3", "4", "5"])
            }
        }
    }
}
