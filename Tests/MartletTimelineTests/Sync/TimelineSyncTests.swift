import Martlet
import MartletDatabase
import MartletLink
import MartletRelay
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Synchronization of a timeline", .timeLimit(.minutes(10)))
struct TimelineSyncTests {
    @Test func `messages of others and own ones → in the timeline, in the order of the log`() async throws {
        try await withRelay { relay in
            try await publish("1", "2", at: relay)
            try await SyncLife.run(FileImage(), at: relay) { life in
                let room = try await life.sync.open(room: "a")
                try await life.page { $0 == ["1", "2"] }
                let id = try await room.send("3")
                try await publish("4", at: relay)
                let page = try await life.page { $0 == ["1", "2", "3", "4"] }
                #expect(page[2].message == id && page.map(\.offset) == [1, 2, 3, 4])
            }
        }
    }

    @Test func `commands without a connection → shown at once, and sent in order by the next process`() async throws {
        let files = FileImage()
        try await SyncLife.run(files, at: nowhere) { life in
            let room = try await life.sync.open(room: "a")
            let first = try await room.send("1")
            try await room.reply(to: MessageReference(first), text: "2")
            try await room.react("!", to: MessageReference(first))
            try await room.edit(MessageReference(first), text: "one")
            let third = try await room.send("3")
            try await room.delete(MessageReference(third))
            #expect(try await life.timeline.page(of: "a").map(TimelineScript.short) == ["one… !1+", "2…"])
        }
        try await withRelay { relay in
            try await SyncLife.run(files, at: relay) { life in
                _ = try await life.sync.open(room: "a")
                try await life.page { $0 == ["one !1+", "2"] }
            }
            #expect(try await texts(at: relay).count == 3)
        }
    }

    // M-27, M-28
    @Test func `rooms that the account has joined → in the timeline's list without opening, until it leaves them`()
        async throws
    {
        try await withRelay { relay in
            try await publish("1", "2", in: "b", at: relay)
            try await SyncLife.run(FileImage(), at: relay) { life in
                try await life.client.join(room: "b")
                var changes = life.timeline.changes.makeAsyncIterator()
                func list() async throws -> [String] {
                    try await life.timeline.rooms().map {
                        "\($0.name) \($0.lastEntry.map(TimelineScript.short) ?? "-") \($0.unreadCount)"
                    }
                }
                while try await list() != ["b 2 2"] { _ = await changes.next() }
                try await publish("3", in: "b", at: relay)
                while try await list() != ["b 3 3"] { _ = await changes.next() }
                #expect(life.sync.rooms.isEmpty)
                try await life.client.leave(room: "b")
                while try await list() != [] { _ = await changes.next() }
            }
        }
    }

    // C-107
    @Test func `1,000 sends of 100 actors while the room opens → in the order of calls`() async throws {
        try await withRelay { relay in
            try await SyncLife.run(FileImage(), at: relay) { life in
                let senders = (0..<100).map { _ in Sender(life.sync) }
                try await withThrowingTaskGroup(of: [MessageID].self) { group in
                    for sender in senders { group.addTask { try await sender.send(10) } }
                    for try await ids in group {
                        #expect(zip(ids, ids.dropFirst()).allSatisfy { $0.counter < $1.counter })
                    }
                }
            }
        }
    }

    @Test func `messages of an earlier process in rooms that are not opened → accepted in the list`() async throws {
        let files = FileImage()
        try await SyncLife.run(files, at: nowhere) { life in
            for number in 1...3 { try await life.sync.open(room: "r\(number)").send("\(number)") }
        }
        try await withRelay { relay in
            try await SyncLife.run(files, at: relay) { life in
                var changes = life.timeline.changes.makeAsyncIterator()
                func texts() async throws -> [String] {
                    try await life.timeline.rooms().compactMap { $0.lastEntry.map(TimelineScript.short) }.sorted()
                }
                while try await texts() != ["1", "2", "3"] { _ = await changes.next() }
                #expect(life.sync.rooms.isEmpty)
                _ = try await life.sync.open(room: "r1")
                try await life.page(of: "r1") { $0 == ["1"] }
                #expect(try await life.timeline.page(of: "r1").map(\.state) == [.accepted])
            }
        }
    }

    // C-108
    @Test func `two retries of a failed message at the same time → it is sent once`() async throws {
        try await withRelay { relay in
            try await SyncLife.run(FileImage(), at: relay) { life in
                let room = try await life.sync.open(room: "a")
                let id = MessageID(sender: life.client.account, device: DeviceID(rawValue: 1), counter: 1)
                let content = try OutgoingMessage("again").content
                try await life.timeline.add(id, content, in: "a")
                try await life.timeline.settle(id, in: "a", as: .failed(.outcomeUnknown))
                async let (first, second) = (room.retry(id), room.retry(id))
                #expect(try await [first, second].compactMap(\.self).count == 1)
                #expect(try await room.retry(id) == nil)
                try await life.page { $0 == ["again"] }
            }
            #expect(try await texts(at: relay) == ["again"])
        }
    }

    @Test func `calls for one room at the same time → one room`() async throws {
        try await SyncLife.run(FileImage(), at: nowhere) { life in
            let rooms = try await withThrowingTaskGroup(of: SyncedRoom.self) { group in
                for _ in 1...8 { group.addTask { try await life.sync.open(room: "a") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(rooms.allSatisfy { $0 === rooms[0] } && life.sync.rooms.count == 1)
            await #expect(throws: MartletError.invalidName("")) { try await life.sync.open(room: "") }
        }
    }

    // W-31
    @Test func `rooms with canonically equivalent names → two rooms, each with its messages`() async throws {
        let (composed, decomposed): (RoomName, RoomName) = ("caf\u{E9}", "cafe\u{301}")
        try await SyncLife.run(FileImage(), at: nowhere) { life in
            let first = try await life.sync.open(room: composed)
            let second = try await life.sync.open(room: decomposed)
            try await first.send("public")
            try await second.send("secret")
            #expect(first !== second && life.sync.rooms.map(\.name) == [decomposed, composed])
            #expect(try await life.timeline.page(of: composed).map(TimelineScript.short) == ["public…"])
            #expect(try await life.timeline.page(of: decomposed).map(TimelineScript.short) == ["secret…"])
            #expect(try await Set(life.timeline.rooms().map(\.name)) == [composed, decomposed])
        }
    }

    @Test func `a client that was not started → notStarted, and the room can be opened later`() async throws {
        let folder = TemporaryFolder()
        let timeline = try await Timeline(path: folder.file("timeline"), account: AccountName("ada"))
        let client = try Client(to: nowhere, as: .anonymous("ada"))
        let sync = TimelineSync(client, timeline)
        await #expect(throws: MartletError.notStarted) { try await sync.open(room: "a") }
        try await withClient(client) { _ in _ = try await sync.open(room: "a") }
        await timeline.close()
    }

    @Test func `a client of another account than the timeline → otherAccount`() async throws {
        let folder = TemporaryFolder()
        let timeline = try await Timeline(path: folder.file("timeline"), account: AccountName("ada"))
        let sync = TimelineSync(try Client(to: nowhere, as: .anonymous("bob")), timeline)
        await #expect(throws: DatabaseError.otherAccount("ada", path: timeline.path)) {
            try await sync.open(room: "a")
        }
        await timeline.close()
    }

    @Test func `a second run at the same time → alreadyIterating`() async throws {
        try await SyncLife.run(FileImage(), at: nowhere, isRunning: false) { life in
            await withTaskGroup(of: (any Error)?.self) { group in
                for _ in 1...2 {
                    group.addTask {
                        do { try await life.sync.run() } catch { return error }
                        return nil
                    }
                }
                // The other one runs until it is cancelled.
                #expect(await group.next() as? MartletError == .alreadyIterating)
                group.cancelAll()
            }
        }
    }

    @Test func `a timeline that is closed during run → run throws closed, also without a message`() async throws {
        try await SyncLife.run(FileImage(), at: nowhere, isRunning: false) { life in
            _ = try await life.sync.open(room: "a")
            let running = Task { try await life.sync.run() }
            await life.timeline.close()
            await #expect(throws: DatabaseError.closed) { try await running.value }
        }
    }

    @Test func `a message that the timeline cannot store → run of its room throws the error`() async throws {
        try await withRelay { relay in
            try await publish("1", at: relay)
            try await SyncLife.run(FileImage(), at: relay, isRunning: false) { life in
                let room = try await life.sync.open(room: "a")
                await life.timeline.close()
                await #expect(throws: DatabaseError.closed) { try await room.run() }
            }
        }
    }

    @Test func `run that was cancelled and called again → continues without a loss`() async throws {
        try await withRelay { relay in
            try await SyncLife.run(FileImage(), at: relay, isRunning: false) { life in
                let room = try await life.sync.open(room: "a")
                for round in 1...5 {
                    let running = Task { try await life.sync.run() }
                    try await room.send("\(round)")
                    try await life.page { $0.count >= round - 1 }
                    running.cancel()
                    await #expect(throws: CancellationError.self) { try await running.value }
                }
                let running = Task { try await life.sync.run() }
                try await life.page { $0 == ["1", "2", "3", "4", "5"] }
                running.cancel()
            }
        }
    }

    @Test func `a room that the relay refuses → its messages fail, and the others continue`() async throws {
        try await withRelay(policy: try RoomRules(parsing: Array("allow all in a to everyone".utf8))) { relay in
            let files = FileImage()
            try await SyncLife.run(files, at: nowhere) { life in
                try await life.sync.open(room: "secret").send("no")
            }
            try await SyncLife.run(files, at: relay) { life in
                _ = try await life.sync.open(room: "secret")
                try await life.page(of: "secret") { $0 == ["no!"] }
                try await life.sync.open(room: "a").send("yes")
                try await life.page { $0 == ["yes"] }
            }
        }
    }
}

/// Sends messages from tasks that it starts in order, without waiting for one before the next.
private actor Sender {
    private let sync: TimelineSync

    init(_ sync: TimelineSync) {
        self.sync = sync
    }

    func send(_ count: Int) async throws -> [MessageID] {
        let tasks = (0..<count).map { number in
            Task {
                let turn = self.sync.turn(in: "a")
                return try await self.sync.open(room: "a").send(OutgoingMessage("\(number)"), in: turn)
            }
        }
        var ids: [MessageID] = []
        for task in tasks { ids.append(try await task.value) }
        return ids
    }
}
