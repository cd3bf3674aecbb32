import MartletRelay
import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Commands of the relay's application through the engine.
@Suite struct RoomCommandScenarioTests {
    private static let text = MessageContent(text: "closing at ten")

    //
    @Test func `publish in the name of the reserved account → members receive it, its hello is refused`() throws {
        let stage = RelayStage { $0.serverAccount = .named("service") }
        let alice = stage.member("alice", of: .lobby)
        stage.act { engine, _ in engine.perform(.publish(Self.text), in: .lobby, id: 7) }
        stage.run(for: .seconds(1))
        #expect(alice.texts == ["closing at ten"])
        #expect(alice.log.last(Message.self)?.relay?.sender == .named("service"))
        let cursor = try #require(try stage.relay.commandResults[7]?.get())
        #expect(cursor == .published(RoomCursor(log: stage.relay.store.logID(.lobby), offset: 1)))
        #expect(stage.member("service").log.last(Reject.self)?.notice.code == .forbidden)
    }

    //
    @Test func `publish at a relay without roles and without an account of its own → noServerAccount`() {
        let stage = RelayStage()
        stage.act { engine, _ in engine.perform(.publish(Self.text), in: .lobby, id: 1) }
        #expect(stage.relay.commandResults[1] == .failure(.noServerAccount))
        stage.act { engine, _ in engine.perform(.close, in: .lobby, id: 2) }
        stage.run(for: .seconds(1))
        #expect(stage.relay.commandResults[2] == .success(.done))
    }

    //
    @Test func `remove an administrator from a room with roles → its session ends with kicked`() {
        let stage = RolesStage()
        _ = stage.member("alice")
        let root = stage.member("root")
        stage.stage.act { engine, _ in engine.perform(.remove(.named("root")), in: .lobby, id: 1) }
        stage.stage.run(for: .seconds(1))
        #expect(root.resets == [.kicked] && stage.relay.commandResults[1] == .success(.done))
        #expect(stage.notes.last == "kick root by server: none")
    }
}
