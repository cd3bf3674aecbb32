import Foundation
import Martlet
import MartletTimeline
import MartletWire
import Testing

@testable import MartletObservation

@Suite("Model of a conversation", .timeLimit(.minutes(10)))
@MainActor
struct ConversationModelTests {
    @Test func `messages in the timeline and later ones → the rows, in order`() async throws {
        try await ModelScript.run { script in
            try await script.timeline.apply([script.text(1), script.text(2)], in: "a")
            let model = script.model()
            try await script.with(model.run) {
                await observed { model.texts == ["1", "2"] }
                try await script.timeline.apply([script.text(3)], in: "b")
                try await script.timeline.apply([script.text(3), .gap(4...5)], in: "a")
                await observed { model.texts == ["1", "2", "3", "gap 4-5"] }
                #expect(model.isLoaded && !model.hasEarlier && !model.hasLater && model.unreadCount == 3)
            }
        }
    }

    @Test func `a pending message that is accepted → the same row, and no other row and no list changes`() async throws
    {
        try await ModelScript.run { script in
            let model = script.model()
            try await script.timeline.apply([script.text(1)], in: "a")
            try await script.with(model.run) {
                let id = try #require(await model.send("own"))
                await observed { model.texts == ["1", "own…"] }
                let rows = model.rows
                let list = ChangeCount { _ = model.rows }
                let first = ChangeCount { _ = rows[0].value }
                let own = ChangeCount { _ = rows[1].value }
                try await script.timeline.settle(id, in: "a", as: .accepted(offset: 2), log: ModelScript.log)
                await observed { model.texts == ["1", "own"] }
                #expect(rows[1] === model.rows[1] && rows[1].value.offset == 2)
                #expect(own.value == 1 && first.value == 0 && list.value == 0)
            }
        }
    }

    @Test func `a message behind pending ones that are accepted later → the rows move, and remain the same`()
        async throws
    {
        try await ModelScript.run { script in
            let model = script.model(pageCount: 2, maxEntryCount: 4)
            try await script.with(model.run) {
                var ids: [MessageID] = []
                for number in 1...4 { ids.append(try #require(await model.send("\(number)"))) }
                await observed { model.texts == ["1…", "2…", "3…", "4…"] }
                let rows = model.rows
                for (index, id) in ids.enumerated() {
                    try await script.timeline.settle(
                        id, in: "a", as: .accepted(offset: UInt64(index) + 11), log: ModelScript.log)
                }
                await observed { model.texts == ["1", "2", "3", "4"] }
                #expect(zip(rows, model.rows).allSatisfy { $0 === $1 })
            }
        }
    }

    // C-107, M-26
    @Test func `a file and a text right behind it, without a connection → rows in the order of the calls`() async throws
    {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)").path
        try Data(count: 4 << 20).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await ModelScript.run { script in
            let model = script.model()
            try await script.with(model.run) {
                let file = Task { await model.send(fileAt: path, caption: "a caption") }
                let text = Task { await model.send("behind it") }
                let ids = [await file.value, await text.value]
                #expect(!ids.contains(nil))
                await observed { model.rows.map(\.value.message) == ids }
                #expect(model.uploadProgress(of: model.rows[0].value) != nil)
                #expect(model.uploadProgress(of: model.rows[1].value) == nil)
            }
        }
    }

    @Test func `edits, reactions, replies, deletions and read marks without a connection → shown at once`() async throws
    {
        try await ModelScript.run { script in
            try await script.timeline.apply([script.text(1)], in: "a")
            let model = script.model()
            try await script.with(model.run) {
                await observed { model.texts == ["1"] }
                await model.reply(to: model.rows[0].value, "reply")
                await model.toggle("!", on: model.rows[0].value)
                await observed { model.texts == ["1 !1", "reply…"] }
                await model.toggle("!", on: model.rows[0].value)
                await model.edit(model.rows[1].value, text: "edited")
                await observed { model.texts == ["1", "edited…"] }
                await model.delete(model.rows[1].value)
                await observed { model.texts == ["1"] && model.unreadCount == 1 }
                await model.markRead()
                await observed { model.unreadCount == 0 }
                #expect(model.failure == nil)
            }
        }
    }

    @Test func `a reaction that another account has given → the own one is added to it`() async throws {
        try await ModelScript.run { script in
            try await script.timeline.apply([script.text(1), script.reaction(2, "!", to: 1)], in: "a")
            let model = script.model()
            try await script.with(model.run) {
                await observed { model.texts == ["1 !1"] }
                await model.toggle("!", on: model.rows[0].value)
                await observed { model.texts == ["1 !2"] }
                await model.toggle("!", on: model.rows[0].value)
                await observed { model.texts == ["1 !1"] }
            }
        }
    }

    @Test func `a read mark of another device of the account → not among the marks of others`() async throws {
        try await withRelay { address in
            try await ModelScript.run(at: address, isRunning: true) { script in
                let model = script.model()
                try await script.with(model.run) {
                    try await withClient(try Client(to: address, as: .anonymous("bob"))) { bob in
                        let room = try await bob.open(room: "a")
                        try await room.send("1").accepted()
                        await observed { model.texts == ["1"] }
                        try await withClient(try Client(to: address, as: .anonymous("ada"))) { other in
                            let same = try await other.open(room: "a")
                            same.markRead(upTo: 1)
                            let own = try #require(script.sync.rooms.first?.room)
                            for await snapshot in own.snapshots where snapshot.readOffset == 1 { break }
                        }
                        try await room.send("2").accepted()
                        await observed { model.texts == ["1", "2"] }
                        #expect(model.readOffset == 0)
                    }
                }
            }
        }
    }

    // C-107
    @Test(arguments: [false, true])
    func `1,000 sends without waiting, in a new room or an open one → in the log in their order`(
        _ isOpen: Bool
    ) async throws {
        try await withRelay { address in
            try await ModelScript.run(at: address, isRunning: true) { script in
                let model = script.model()
                if isOpen { _ = try await script.sync.open(room: "a") }
                let sends = (0..<1000).map { number in Task { @MainActor in await model.send("\(number)") } }
                var ids: [MessageID] = []
                for send in sends { ids.append(try #require(await send.value)) }
                #expect(zip(ids, ids.dropFirst()).allSatisfy { $0.counter < $1.counter })
            }
        }
    }

    @Test func `a command that fails → its typed error, until it is cleared`() async throws {
        try await ModelScript.run { script in
            let model = script.model()
            #expect(await model.send("") == nil)
            guard case .messaging(let error) = model.failure else {
                Issue.record("\(String(describing: model.failure))")
                return
            }
            #expect(error.code == .invalidContent)
            model.clearFailure()
            #expect(model.failure == nil)
            await script.timeline.close()
            #expect(await model.jump(to: script.id(1)) == false)
            #expect(model.failure == .storage(.closed))
        }
    }

    @Test func `10,000 messages and steps up and down → the window stays within its bound`() async throws {
        try await ModelScript.run { script in
            let model = script.model(pageCount: 20, maxEntryCount: 60)
            try await script.timeline.apply((1...10_000).map { script.text($0) }, in: "a")
            try await script.with(model.run) {
                await observed { model.rows.count == 20 }
                #expect(model.hasEarlier && !model.hasLater && model.texts.last == "10000")
                for _ in 1...5 { await model.loadEarlier() }
                #expect(model.rows.count == 60 && model.texts.first == "9881" && model.hasLater)
                try await script.timeline.apply([script.text(10_001)], in: "a")
                for _ in 1...4 { await model.loadLater() }
                #expect(model.rows.count == 60 && model.texts.last == "10001" && !model.hasLater)
                try await script.timeline.apply((10_002...10_100).map { script.text($0) }, in: "a")
                await observed { model.texts.last == "10100" }
                #expect(model.rows.count == 60 && model.maxEntryCount == 60)
            }
        }
    }

    @Test func `a jump to a message, to a time and to the end → its surroundings`() async throws {
        try await ModelScript.run { script in
            let model = script.model(pageCount: 4, maxEntryCount: 8)
            try await script.timeline.apply((1...100).map { script.text($0) }, in: "a")
            try await script.with(model.run) {
                #expect(await model.jump(to: script.id(50)))
                #expect(model.texts == ["48", "49", "50", "51", "52"] && model.hasEarlier && model.hasLater)
                #expect(await model.jump(toTime: 1070))
                #expect(model.texts == ["68", "69", "70", "71", "72"])
                #expect(await model.jump(to: script.id(500)) == false)
                await model.jumpToEnd()
                #expect(model.texts == ["97", "98", "99", "100"] && !model.hasLater)
            }
        }
    }

    @Test func `500 messages in single transactions → at most 60 changes a second, and the last state`() async throws {
        try await ModelScript.run { script in
            let clock = VirtualClock()
            let model = ConversationModel(of: "a", in: script.sync, clock: clock)
            try await script.with(model.run) {
                await observed { model.isLoaded }
                let passes = ChangeCount { _ = model.rows }
                for number in 1...500 as ClosedRange<UInt64> {
                    try await script.timeline.apply([script.text(number)], in: "a")
                    clock.advance(by: .milliseconds(1))
                }
                while !Task.isCancelled, model.texts.last != "500" {
                    clock.advance(by: .milliseconds(1))
                    await Task.yield()
                }
                // 500 ms and the time of the last passes.
                #expect(passes.value <= Int(clock.now / UpdateGate.minInterval) + 1)
            }
        }
    }

    @Test func `messages, marks and typing of others through a relay → the model has them`() async throws {
        try await withRelay { relay in
            try await ModelScript.run(at: relay, isRunning: true) { script in
                let model = script.model()
                try await script.with(model.run) {
                    let bob = try Client(to: relay, as: .anonymous("bob"))
                    try await withClient(bob) { bob in
                        let room = try await bob.open(room: "a")
                        await model.send("hello")
                        for try await message in room.messages {
                            room.markRead(upTo: message.cursor)
                            break
                        }
                        room.setTyping(true)
                        await observed { model.readOffset == 1 && model.deliveredOffset == 1 }
                        await observed { model.typing == [AccountName("bob")] }
                        try await room.send("hi")
                        await observed { model.texts == ["hello", "hi"] && model.unreadCount == 1 }
                    }
                }
            }
        }
    }

    @Test func `a room that ends while another types, and is opened again → no typing, and the marks of the new room`()
        async throws
    {
        try await withRelay { relay in
            try await ModelScript.run(at: relay, isRunning: true) { script in
                let model = script.model()
                try await script.with(model.run) {
                    try await withClient(try Client(to: relay, as: .anonymous("bob"))) { bob in
                        let room = try await bob.open(room: "a")
                        for await snapshot in room.snapshots
                        where snapshot.members.contains(where: { $0.account == script.client.account }) { break }
                        room.setTyping(true)
                        await observed { model.typing == [AccountName("bob")] }
                        await script.sync.close(room: "a")
                        await observed { model.typing.isEmpty }
                        await model.send("hello")
                        for try await message in room.messages {
                            room.markRead(upTo: message.cursor)
                            break
                        }
                        await observed { model.readOffset == 1 }
                    }
                }
            }
        }
    }

    @Test func `a room that the application has open → a failure; a command after its close → the marks of others`()
        async throws
    {
        try await withRelay { relay in
            try await ModelScript.run(at: relay, isRunning: true) { script in
                let own = try await script.client.open(room: "a")
                let model = script.model()
                try await script.with(model.run) {
                    try await withClient(try Client(to: relay, as: .anonymous("bob"))) { bob in
                        let room = try await bob.open(room: "a")
                        await observed { model.failure != nil }
                        #expect(model.failure == .messaging(.roomAlreadyOpen("a")))
                        await own.close()
                        await model.send("hello")
                        for try await message in room.messages {
                            room.markRead(upTo: message.cursor)
                            break
                        }
                        await observed { model.readOffset == 1 }
                    }
                }
            }
        }
    }

    @Test func `a file with the last messages only → earlier ones from the relay`() async throws {
        try await withRelay { relay in
            try await withClient(try Client(to: relay, as: .anonymous("bob"))) { bob in
                let room = try await bob.open(room: "a")
                for number in 1...300 { try await room.send("\(number)") }
                _ = try await room.pending.last?.accepted()
            }
            try await ModelScript.run(at: relay, isRunning: true) { script in
                let model = script.model(pageCount: 100, maxEntryCount: 500)
                try await script.with(model.run) {
                    await observed { model.texts.last == "300" }
                    while model.hasEarlier { await model.loadEarlier() }
                    #expect(model.texts == (1...300).map { "\($0)" } && model.failure == nil)
                }
            }
        }
    }
}
