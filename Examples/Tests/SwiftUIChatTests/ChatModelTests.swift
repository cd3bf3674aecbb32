import Foundation
import Martlet
import MartletRelay
import Observation
import Testing

@testable import SwiftUIChat

@Suite("Models of the chat", .timeLimit(.minutes(5)))
@MainActor
struct ChatModelTests {
    /// Returns when a condition on observable properties is true.
    private func observed(_ condition: @MainActor () -> Bool) async {
        while true {
            let (changes, change) = AsyncStream.makeStream(of: Void.self)
            if withObservationTracking(condition, onChange: { change.finish() }) { return }
            for await _ in changes {}
        }
    }

    /// Runs `body` with a folder for the files of accounts.
    private func withFolder(_ body: (_ path: String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chat-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    private func model(_ account: String, at relay: String, in folder: String) async throws -> ChatModel {
        let own = folder + "/" + account
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        return try await ChatModel(relay: relay, account: account, folder: own)
    }

    /// Runs a relay in memory with the clients of accounts.
    private func withModels(
        _ accounts: [String], _ body: @MainActor ([ChatModel]) async throws -> Void
    ) async throws {
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let address = "martlet://\(try relay.start()[0])"
        try await withFolder { folder in
            var models: [ChatModel] = []
            for account in accounts { models.append(try await model(account, at: address, in: folder)) }
            let runs = models.map { model in Task { await model.run() } }
            try await body(models)
            for run in runs { run.cancel() }
            for run in runs { await run.value }
        }
        await relay.shutdown()
    }

    private func texts(_ room: RoomModel) -> [String] {
        room.messages.rows.map { row in
            let shown = room.appearance(of: row.value)
            return [shown.sender ?? "", shown.text, shown.note ?? ""].joined(separator: "|")
        }
    }

    @Test func `a message of one account -> the other's list, unread count and entries, and both marks`() async throws {
        try await withModels(["ada", "bob"]) { models in
            let (ada, bob) = (models[0], models[1])
            ada.newRoom = "lobby"
            let name = try #require(ada.takeNewRoom())
            #expect(ada.newRoom.isEmpty)
            let (hers, his) = (ada.conversation(name), bob.conversation(name))
            let running = [hers, his].map { room in Task { await room.messages.run() } }
            await observed { ada.banner == nil && bob.banner == nil && his.messages.isLoaded }
            hers.draft = "hello"
            await hers.send()
            #expect(hers.draft.isEmpty && !hers.canSend)
            await observed { texts(his) == ["ada|hello|"] }
            await observed { bob.rooms.rows.map(\.value.unreadCount) == [1] && bob.rooms.unreadCount == 1 }
            await observed { texts(hers) == ["ada|hello|Delivered"] }
            await his.messages.markRead()
            await observed { texts(hers) == ["ada|hello|Read"] && bob.rooms.unreadCount == 0 }
            hers.draft = "and"
            await hers.draftChanged()
            await observed { his.typing == "ada is typing…" }
            hers.draft = ""
            await hers.draftChanged()
            await observed { his.typing == nil }
            for task in running { task.cancel() }
        }
    }

    @Test func `without a relay -> a banner with a retry, and messages that wait and remain after a restart`()
        async throws
    {
        try await withFolder { folder in
            for start in 1...2 {
                let chat = try await model("ada", at: "martlet://127.0.0.1:1", in: folder)
                let run = Task { await chat.run() }
                await observed { chat.banner?.canRetry == true }
                #expect(chat.banner?.text == "Offline. Messages are sent later.")
                let room = chat.conversation("lobby")
                let reading = Task { await room.messages.run() }
                if start == 1 {
                    room.draft = "later"
                    await room.send()
                }
                await observed { texts(room) == ["ada|later|Waiting"] && chat.outbox.pendingCount == 1 }
                #expect(chat.conversation("lobby") === room)
                reading.cancel()
                run.cancel()
                await run.value
            }
        }
    }

    @Test func `a name of a room that is not valid, and a draft of spaces -> nothing to join or to send`() async throws
    {
        try await withFolder { folder in
            let chat = try await model("ada", at: "martlet://127.0.0.1:1", in: folder)
            for name in ["", String(repeating: "x", count: 300)] {
                chat.newRoom = name
                #expect(chat.takeNewRoom() == nil && chat.newRoom == name)
            }
            let room = chat.conversation("lobby")
            room.draft = " \n"
            await room.send()
            #expect(!room.canSend && room.draft == " \n" && room.messages.failure == nil)
        }
    }
}
