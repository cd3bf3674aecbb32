import Dispatch
import MartletAdmin
import MartletRelay
import MartletRelaySQLite

/// A program with a relay: its rooms are kept on disk, and the program decides who may do what.
///
/// It publishes the lines of its standard input as announcements, and serves the status page. It ends at the end of its
/// standard input.
@main
struct OfficeRelay {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else { return print("usage: office-relay FOLDER") }
        var configuration = try Relay.Configuration(port: 7227)
        configuration.engine.serverAccount = "office"
        let store = try await SQLiteStore.sqlite(at: CommandLine.arguments[1])
        let relay = Relay(
            configuration: configuration, store: store, authenticator: .allowAll, policy: OfficeRooms())
        try relay.start()
        let address = SocketAddress(.loopbackV4, port: 7228)
        let admin = AdminServer(relay, configuration: AdminServer.Configuration(addresses: [address]))
        try admin.start()
        print("clients: martlet://127.0.0.1:7227, status page: http://127.0.0.1:7228")

        while let line = await nextLine() {
            try await relay.publish(MessageContent(text: line), in: OfficeRooms.announcements)
        }

        await relay.drain(within: .seconds(5))  // clients learn that they can connect again soon
        await admin.shutdown()
        await relay.shutdown()
        await store.close()
    }

    /// `readLine` blocks, so it runs outside of the tasks' threads.
    private static func nextLine() async -> String? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: readLine()) }
        }
    }
}

/// Everybody reads the announcements, which only the program writes. Other rooms are open to all.
struct OfficeRooms: ImmediateRoomPolicy {
    static let announcements: RoomName = "announcements"

    func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
        .granted(request.room == Self.announcements ? .readHistory : .all)
    }
}
