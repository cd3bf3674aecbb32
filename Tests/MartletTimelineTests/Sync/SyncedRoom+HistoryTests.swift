import Martlet
import MartletLink
import MartletRelay
import MartletSQLite
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("History of a synchronized room", .timeLimit(.minutes(10)))
struct SyncedRoomHistoryTests {
    private let few: TimelineSync.Options

    init() {
        var options = TimelineSync.Options()
        options.initialMessageCount = 3
        few = options
    }

    private let texts = (1...20).map { "\($0)" }

    @Test func `a room that begins with its latest messages → earlier ones on request, until the first`() async throws {
        try await withRelay { relay in
            try await publish(texts, at: relay)
            try await SyncLife.run(FileImage(), at: relay, options: few) { life in
                let room = try await life.sync.open(room: "a")
                try await life.page { $0 == ["18", "19", "20"] }
                #expect(try await room.fetchEarlier(limit: 10))
                #expect(try await life.timeline.page(of: "a").count == 13)
                #expect(try await room.fetchEarlier(limit: 10) == false)
                #expect(try await life.timeline.page(of: "a").map(TimelineScript.short) == texts)
                #expect(try await room.fetchEarlier() == false)
            }
        }
    }

    @Test func `a time before the known messages → its messages and a gap, which is filled in parts`() async throws {
        try await withRelay { relay in
            try await publish(texts, at: relay)
            try await SyncLife.run(FileImage(), at: relay, options: few) { life in
                let room = try await life.sync.open(room: "a")
                try await life.page { $0 == ["18", "19", "20"] }
                let id = try #require(try await room.fetch(acceptedFrom: 0, limit: 2))
                #expect(try await life.timeline.entry(id, in: "a")?.offset == 1)
                var page = try await life.page { $0 == ["1", "2", "gap 3-17", "18", "19", "20"] }
                #expect(room.canFill(page[2]))
                #expect(try await room.fill(page[2], limit: 10))
                page = try await life.page { $0.count == 16 && $0[2] == "gap 3-7" && $0[3] == "8" }
                #expect(try await room.fill(page[2], limit: 100))
                try await life.page { $0 == texts }
                #expect(try await room.fill(page[1]) == false)
            }
        }
    }

    @Test func `a gap of a log that was replaced → it is not filled with messages of the current log`() async throws {
        let files = FileImage()
        try await withRelay { relay in
            try await publish(texts, at: relay)
            try await SyncLife.run(files, at: relay, options: few) { life in
                let room = try await life.sync.open(room: "a")
                try await life.page { $0 == ["18", "19", "20"] }
                _ = try await room.fetch(acceptedFrom: 0, limit: 2)
                try await life.page { $0 == ["1", "2", "gap 3-17", "18", "19", "20"] }
            }
        }
        try await withRelay { relay in
            try await publish(texts, at: relay)
            try await SyncLife.run(files, at: relay) { life in
                let room = try await life.sync.open(room: "a")
                let page = try await life.page { Array($0.suffix(20)) == texts }
                #expect(TimelineScript.short(page[2]) == "gap 3-17")
                #expect(try await room.fill(page[2], limit: 10) == false)
            }
        }
    }

    @Test func `pages of history → the cursor stays, so that a later process receives what is between`() async throws {
        let files = FileImage()
        try await withRelay { relay in
            try await publish(texts, at: relay)
            try await SyncLife.run(files, at: relay, options: few) { life in
                _ = try await life.sync.open(room: "a")
                try await life.page { $0 == ["18", "19", "20"] }
            }
            try await publish(["21", "22", "23", "24"], at: relay)
            try await SyncLife.run(files, at: relay, isRunning: false) { life in
                let room = try await life.sync.open(room: "a")
                let page = try await room.room.messages(before: nil, limit: 1)
                let part = HistoryPart(messages: page.messages, offsets: 24...24, log: page.log)
                #expect(try await life.timeline.apply(part, in: "a") { _ in false })
                #expect(try await life.timeline.cursor(of: "a")?.offset == 20)
            }
            try await SyncLife.run(files, at: relay) { life in
                _ = try await life.sync.open(room: "a")
                try await life.page { $0 == (18...24).map { "\($0)" } }
            }
        }
    }

    @Test func `a room that is built anew → the latest page, then the earlier ones; unsent messages remain`()
        async throws
    {
        try await withRelay { relay in
            try await publish(texts, at: relay)
            try await SyncLife.run(FileImage(), at: relay) { life in
                let room = try await life.sync.open(room: "a")
                try await life.page { $0 == texts }
                try await room.rebuild(limit: 5)
                #expect(try await life.timeline.page(of: "a").map(TimelineScript.short) == Array(texts.suffix(5)))
                try await room.fetchEarlier(limit: 256)
                try await life.page { $0 == texts }
            }
        }
    }
}
