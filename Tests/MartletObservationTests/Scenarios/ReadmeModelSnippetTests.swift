import Martlet
import MartletObservation
import MartletSQLite
import MartletTimeline

@MainActor
func converse(as credentials: Credentials, at relay: String, in folder: String) async throws {
    // snippet:begin
    let client = try Client(to: relay, as: credentials, outbox: .sqlite(at: folder + "/outbox"))
    let timeline = try await Timeline(path: folder + "/timeline", account: client.account)
    let sync = TimelineSync(client, timeline)
    let lobby = ConversationModel(of: "lobby", in: sync)
    try await withClient(client) { _ in
        let view = Task { await lobby.run() }  // in SwiftUI: .task { await lobby.run() }
        defer { view.cancel() }  // a model runs until it is cancelled or the timeline is closed
        await lobby.send("hello")  // in lobby.rows at once, also without a connection
        try await sync.run()  // until client.stop()
    }
    await timeline.close()
    // snippet:end
}
