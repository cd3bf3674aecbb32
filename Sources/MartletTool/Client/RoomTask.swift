import Martlet
import MartletToolSupport

/// The work of a command in one room, without messages of the room unless it begins at another place of the log.
enum RoomTask {
    /// Connects, opens the room and performs the work.
    static func run(
        _ arguments: ParsedArguments, agent: String, from start: Room.Options.From = .latest(count: 0),
        _ body: @escaping @Sendable (Client, Room) async throws -> Void
    ) async throws {
        let monitor = TransferMonitor(.none)
        let client = try ClientOptions.client(arguments, agent: agent, monitor: monitor)
        let name = try ClientOptions.roomName(arguments)
        try await withClient(client) { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                group.addTask {
                    let options = Room.Options(from: start)
                    try await body(client, try await client.open(room: name.text, options: options))
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}
