import Martlet
import MartletTimeline
import Testing

@testable import MartletObservation

@Suite("Model of a room's members", .timeLimit(.minutes(10)))
@MainActor
struct MemberListModelTests {
    @Test func `members that come, type and leave → their presence; typing does not change the members`() async throws {
        try await withRelay { relay in
            try await ModelScript.run(at: relay, isRunning: true) { script in
                let model = MemberListModel(of: "a", in: script.sync, clock: script.clock)
                try await script.with(model.run) {
                    await observed { model.members.map(\.id.text) == ["ada"] }
                    try await withClient(try Client(to: relay, as: .anonymous("bob"))) { bob in
                        let room = try await bob.open(room: "a")
                        await observed { model.members.map(\.id.text) == ["ada", "bob"] && model.onlineCount == 2 }
                        let members = ChangeCount { _ = model.members }
                        room.setTyping(true)
                        await observed { model.typing.map(\.text) == ["bob"] }
                        room.setTyping(false)
                        await observed { model.typing.isEmpty }
                        #expect(members.value == 0)
                    }
                    await observed { model.members.map(\.id.text) == ["ada"] }
                }
            }
        }
    }

    @Test func `a room that cannot be opened → the error`() async throws {
        try await ModelScript.run { script in
            let room = try await script.sync.client.open(room: "a", options: Room.Options(waitsForRelay: false))
            let model = MemberListModel(of: "a", in: script.sync, clock: script.clock)
            await model.run()
            #expect(model.failure == .messaging(.roomAlreadyOpen("a")))
            await room.close()
        }
    }
}
