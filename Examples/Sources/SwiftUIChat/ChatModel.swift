import Martlet
import MartletObservation
import MartletSQLite
import MartletTimeline
import Observation

/// The account's connection, its rooms, and the open conversations. The views show this model and decide nothing.
///
/// All messages are in two files of a folder: the outbox has those that the relay has not accepted, the timeline the
/// others. The application therefore shows and sends messages without a connection, and after a restart.
@MainActor @Observable
final class ChatModel {
    /// What is shown above the rooms while not everything is as it should be.
    struct Banner: Equatable {
        let text: String
        /// Whether the user can request a connection.
        let canRetry: Bool
    }

    let rooms: ConversationListModel
    let outbox: OutboxModel
    /// The name of a room that the user enters, to join it.
    var newRoom = ""

    private let connection: ConnectionModel
    @ObservationIgnored private let client: Client
    @ObservationIgnored private let sync: TimelineSync
    @ObservationIgnored private var conversations: [RoomName: RoomModel] = [:]

    /// Opens the files of an account, and begins to connect.
    init(relay: String, account: String, folder: String) async throws {
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero  // the outbox keeps what is not sent
        client = try Client(
            to: relay, as: .anonymous(account), outbox: .sqlite(at: folder + "/outbox"), configuration: configuration)
        sync = TimelineSync(client, try await Timeline(path: folder + "/timeline", account: client.account))
        connection = ConnectionModel(client)
        rooms = ConversationListModel(sync.timeline)
        outbox = OutboxModel(sync)
        try await client.start()
    }

    /// Updates the models until the task is cancelled, and then stops the client. It can be called once.
    func run() async {
        await withTaskGroup(of: Void.self) { [sync] group in
            group.addTask { try? await sync.run() }
            group.addTask { await self.connection.run() }
            group.addTask { await self.rooms.run() }
            group.addTask { await self.outbox.run() }
        }
        await client.stop()
        await sync.timeline.close()
    }

    /// The scene has become active, or inactive.
    func setActive(_ isActive: Bool) {
        if isActive { connection.enterForeground() } else { connection.enterBackground() }
    }

    func retryNow() { connection.retryNow() }

    /// Nil while the client is online and all messages have been accepted.
    var banner: Banner? {
        switch connection.status.phase {
        case .idle, .stopping, .stopped(nil): nil
        case .online: sending.map { Banner(text: $0, canRetry: false) }
        case .connecting, .signingIn: Banner(text: "Connecting…", canRetry: false)
        case .paused: Banner(text: "No network", canRetry: true)
        case .waiting: Banner(text: "Offline. Messages are sent later.", canRetry: true)
        case .stopped(let reason?): Banner(text: "Not connected: \(reason)", canRetry: true)
        }
    }

    private var sending: String? {
        if outbox.failedCount > 0 { return "Not sent: \(outbox.failedCount)" }
        return outbox.pendingCount > 0 ? "Sending \(outbox.pendingCount)…" : nil
    }

    /// The room that the user has entered; nil if it is no valid name.
    var joinableRoom: RoomName? { newRoom.isEmpty ? nil : RoomName(newRoom) }

    /// Returns the room that the user has entered, to show it. The first view of a room joins it.
    func takeNewRoom() -> RoomName? {
        defer { if joinableRoom != nil { newRoom = "" } }
        return joinableRoom
    }

    /// The conversation of a room, which keeps its draft.
    func conversation(_ name: RoomName) -> RoomModel {
        if let known = conversations[name] { return known }
        let new = RoomModel(ConversationModel(of: name, in: sync), account: client.account)
        conversations[name] = new
        return new
    }
}
