import Foundation
import Martlet
import MartletTimeline
import Testing

@Suite("The models of the README", .timeLimit(.minutes(10)))
@MainActor
struct ReadmeModelTests {
    @Test func `the text that was sent → in the log of the relay, and in the timeline`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withRelay { relay in
            let path = folder.path
            let conversation = Task { try await converse(as: .anonymous("ada"), at: relay, in: path) }
            try await withClient(try Client(to: relay, as: .anonymous("bob"))) { bob in
                let lobby = try await bob.open(room: "lobby")
                for try await message in lobby.messages {
                    #expect(message.text == "hello")
                    break
                }
            }
            conversation.cancel()
            _ = await conversation.result
            let timeline = try await Timeline(path: folder.path + "/timeline", account: AccountName("ada"))
            #expect(try await timeline.page(of: "lobby").count == 1)
            await timeline.close()
        }
    }
}
