import Martlet
import MartletTimeline
import Testing

@testable import MartletObservation

@Suite("Model of the outbox", .timeLimit(.minutes(10)))
@MainActor
struct OutboxModelTests {
    @Test func `a pending message that is discarded → its row is unchanged until it disappears`() async throws {
        try await ModelScript.run { script in
            let room = try await script.sync.open(room: "a")
            let id = try await room.send("1")
            let conversation = script.model()
            // The discard begins with the mark.
            try await script.timeline.perform([.mark(id, .removal)], in: "a")
            await conversation.update()
            #expect(conversation.texts == ["1…"])
            await OutboxModel(script.sync, clock: script.clock).discard(try #require(room.unsent.first))
            await conversation.update()
            #expect(conversation.texts == [] && room.unsent.isEmpty)
        }
    }

    @Test func `pending and failed messages of rooms → rows and counts, until they are accepted or discarded`()
        async throws
    {
        try await ModelScript.run(isRunning: true) { script in
            let model = OutboxModel(script.sync, clock: script.clock)
            try await script.with(model.run) {
                let (a, b) = (try await script.sync.open(room: "a"), try await script.sync.open(room: "b"))
                try await a.send("1")
                try await a.send(OutgoingMessage(text: "2", timeToLive: .zero))
                try await b.send("3")
                await observed { model.pendingCount == 2 && model.failedCount == 1 }
                let failed = try #require(model.rows.first { $0.value.failure == .expired })
                let pending = try #require(model.rows.first { $0.value.room == "b" })
                #expect(model.rows.map(\.value.content.text) == ["1", "2", "3"])
                await model.discard(pending.value)
                await model.retry(failed.value)
                await observed {
                    model.rows.first?.value.content.text == "1" && !model.rows.contains { $0 === pending }
                }
                await observed { model.rows.count == 2 && model.pendingCount + model.failedCount == 2 }
                #expect(model.failure == nil)
            }
        }
    }
}
