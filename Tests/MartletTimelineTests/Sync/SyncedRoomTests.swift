import Martlet
import MartletLink
import MartletRelay
import MartletSQLite
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Commands in a synchronized room", .timeLimit(.minutes(10)))
struct SyncedRoomTests {
    /// Dead letters of texts in room `a`.
    private func fail(_ texts: String..., in files: FileImage) async throws {
        try await SyncLife.run(files, at: nowhere) { life in
            let room = try await life.sync.open(room: "a")
            for text in texts { try await room.send(text) }
            await life.sync.close(room: "a")
            try await life.page { $0 == texts.map { $0 + "!" } }
        }
    }

    @Test func `a failed message that is retried → the same entry, accepted under another ID`() async throws {
        let files = FileImage()
        try await fail("x", "y", in: files)
        try await withRelay { relay in
            try await SyncLife.run(files, at: relay) { life in
                let room = try await life.sync.open(room: "a")
                #expect(room.unsent.map(\.failure) == [.closed, .closed])
                let entries = try await life.timeline.page(of: "a")
                let id = try await room.retry(try #require(entries[0].message))
                let page = try await life.page { $0 == ["x", "y!"] }
                #expect(page[0].id == entries[0].id && page[0].message == id && id != entries[0].message)
                #expect(try await room.retry(try #require(id)) == nil)
                #expect(try await room.discard(try #require(entries[1].message)))
                #expect(room.unsent.isEmpty)
                try await life.page { $0 == ["x"] }
            }
            #expect(try await texts(at: relay) == ["x"])
        }
    }

    @Test func `an edit of a queued message → one message, with the new text in the same entry`() async throws {
        let files = FileImage()
        try await SyncLife.run(files, at: nowhere) { life in
            let room = try await life.sync.open(room: "a")
            let id = try await room.send("old")
            let entry = try await life.timeline.entry(id, in: "a")
            try await room.edit(MessageReference(id), text: "new")
            let edited = try await life.timeline.entry(id, in: "a")
            #expect(edited?.id == entry?.id && edited.map(TimelineScript.short) == "new…")
            #expect(try await life.timeline.search("old").isEmpty)
            #expect(room.unsent.map(\.content.text) == ["new"])
        }
    }

    // M-4, M-9
    @Test
    func `changes of another account's message, and edits without a text → changeNotAllowed, and nothing is sent`()
        async throws
    {
        try await withRelay { relay in
            try await publish("theirs", at: relay)
            try await SyncLife.run(FileImage(), at: relay) { life in
                let room = try await life.sync.open(room: "a")
                let theirs = try #require(try await life.page { $0 == ["theirs"] }[0].reference)
                let event = try await room.send(.init(body: .system(event: EventName("x")!, text: nil)))
                let own = try await room.send("own")
                try await room.delete(MessageReference(own))
                let commands: [() async throws -> Void] = [
                    { try await room.edit(theirs, text: "x") }, { try await room.delete(theirs) },
                    { try await room.edit(MessageReference(event), text: "x") },
                    { try await room.edit(MessageReference(own), text: "x") },
                    { try await room.room.send(.edit(of: theirs, text: "x")) },
                ]
                for command in commands {
                    do {
                        try await command()
                        Issue.record("the command was not refused")
                    } catch let error as MartletError { #expect(error.code == .changeNotAllowed) }
                }
                try await life.page { $0.count == 3 && !$0.contains { $0.hasSuffix("…") } }
            }
            #expect(try await texts(at: relay).count <= 4)
        }
    }

    @Test func `an edit and a deletion of accepted messages → changes for all members`() async throws {
        try await withRelay { relay in
            try await SyncLife.run(FileImage(), at: relay) { life in
                let room = try await life.sync.open(room: "a")
                let first = try await room.send("1")
                let second = try await room.send("2")
                try await life.page { $0 == ["1", "2"] }
                try await room.edit(MessageReference(first), text: "one")
                try await room.delete(MessageReference(second))
                try await life.page { $0 == ["one*", "deleted"] }
            }
            #expect(try await texts(at: relay).count == 4)
        }
    }

    @Test func `a read mark without a connection → reported to the relay by the next process`() async throws {
        let files = FileImage()
        try await withRelay { relay in
            try await publish("1", "2", at: relay)
            try await SyncLife.run(files, at: relay) { life in
                _ = try await life.sync.open(room: "a")
                try await life.page { $0 == ["1", "2"] }
            }
            try await SyncLife.run(files, at: nowhere) { life in
                let room = try await life.sync.open(room: "a")
                let last = try #require(try await life.timeline.page(of: "a").last)
                try await room.markRead(upTo: last)
                #expect(try await life.timeline.unreadCount(of: "a") == 0)
            }
            try await SyncLife.run(files, at: relay) { life in
                _ = try await life.sync.open(room: "a")
                // Another device of the account learns the mark.
                try await SyncLife.run(FileImage(), at: relay) { other in
                    _ = try await other.sync.open(room: "a")
                    var changes = other.timeline.changes.makeAsyncIterator()
                    while true {
                        let list = try await other.timeline.room("a")
                        if list?.lastEntry?.offset == 2, list?.unreadCount == 0 { break }
                        _ = await changes.next()
                    }
                }
            }
        }
    }
}
