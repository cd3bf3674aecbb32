import Martlet
import Testing

@testable import MartletObservation

@Suite("Model of a room's status cards", .timeLimit(.minutes(10)))
@MainActor
struct StatusBoardModelTests {
    private func card(_ name: String, _ status: CardStatus = .ok) throws -> OutgoingMessage {
        try .card(StatusCard(id: CardID(name)!, title: name, status: status))
    }

    private func texts(_ model: StatusBoardModel) -> [String] {
        model.rows.map { "\($0.value.card.id):\($0.value.card.status.name)" }
    }

    @Test func `cards that are stored, replaced, deleted and removed → the current ones, newest state first`()
        async throws
    {
        try await withRelay { relay in
            try await withClient(try Client(to: relay, as: .anonymous("bob"))) { bob in
                let room = try await bob.open(room: "ci")
                let flag = try await room.send(card("flag"))
                _ = try await room.send(card("build", .running)).accepted()
                try await withClient(try Client(to: relay, as: .anonymous("ada"))) { ada in
                    let model = StatusBoardModel(of: "ci", in: ada, clock: FastClock())
                    let running = Task { await model.run() }
                    await observed { model.isLoaded }
                    #expect(texts(model) == ["build:running", "flag:ok"])
                    let row = model.rows[0]
                    let rows = ChangeCount { _ = model.rows }
                    _ = try await room.send(card("build", .failed)).accepted()
                    await observed { texts(model) == ["build:failed", "flag:ok"] }
                    // The same object has the new state.
                    #expect(row.value.card.status == .failed && rows.value == 0)
                    _ = try await room.send("a text").accepted()
                    _ = try await room.delete(flag)
                    await observed { texts(model) == ["build:failed"] }
                    _ = try await room.send(card("build", .removed)).accepted()
                    await observed { model.rows.isEmpty }
                    running.cancel()
                    await running.value
                    #expect(model.failure == nil)
                    // The room is closed, so that it can be opened again.
                    try await ada.open(room: "ci").close()
                }
            }
        }
    }

    @Test func `a room without messages → loaded without cards`() async throws {
        try await withRelay { relay in
            try await withClient(try Client(to: relay, as: .anonymous("ada"))) { ada in
                let model = StatusBoardModel(of: "ci", in: ada, clock: FastClock())
                let running = Task { await model.run() }
                await observed { model.isLoaded }
                #expect(model.rows.isEmpty)
                running.cancel()
                await running.value
            }
        }
    }

    @Test func `cards during an interval between updates → no update before its end, and one in each interval`()
        async throws
    {
        try await withRelay { relay in
            try await withClient(try Client(to: relay, as: .anonymous("ada"))) { ada in
                let clock = VirtualClock()
                let model = StatusBoardModel(of: "ci", in: ada, clock: clock)
                let running = Task { await model.run() }
                await observed { model.isLoaded }
                try await withClient(try Client(to: relay, as: .anonymous("bob"))) { bob in
                    let room = try await bob.open(room: "ci")
                    let changes = ChangeCount { _ = model.rows }
                    _ = try await room.send(card("0")).accepted()
                    // The update of the first card waits for the interval.
                    await clock.whenWaiting()
                    for name in 1...20 { _ = try await room.send(card("\(name)")).accepted() }
                    #expect(model.rows.isEmpty)
                    clock.advance(by: UpdateGate.minInterval)
                    await observed { !model.rows.isEmpty }
                    await clock.whenWaiting()
                    clock.advance(by: UpdateGate.minInterval)
                    await observed { model.rows.count >= 2 }
                    #expect(changes.value == 2)
                }
                running.cancel()
                await running.value
            }
        }
    }

    @Test func `a room that is open otherwise → the error`() async throws {
        try await ModelScript.run { script in
            let room = try await script.client.open(room: "ci", options: Room.Options(waitsForRelay: false))
            let model = StatusBoardModel(of: "ci", in: script.client, clock: script.clock)
            await model.run()
            #expect(model.failure == .messaging(.roomAlreadyOpen("ci")) && model.rows.isEmpty)
            await room.close()
        }
    }
}
