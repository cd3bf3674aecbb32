import Martlet
import MartletToolSupport

/// The transfer of an attachment by a command.
enum AttachmentTransfer {
    /// Connects, opens the room, and performs a transfer.
    static func run(
        _ arguments: ParsedArguments, agent: String, _ body: @escaping @Sendable (Room) async throws -> Void
    ) async throws {
        let client = try ClientOptions.client(arguments, agent: agent)
        let name = try ClientOptions.roomName(arguments)
        let monitor = TransferMonitor(.none)
        do {
            try await withClient(client) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask {
                        let options = Room.Options(from: .latest(count: 0))
                        try await body(try await client.open(room: name.text, options: options))
                    }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch is CancellationError {
            throw CommandError(.interrupted, "interrupted; the next command continues")
        } catch let error as MartletError where error.code == .fileFailed {
            throw CommandError(.inputOutput, error.reason ?? "")
        } catch let error as MartletError {
            throw CommandError(error)
        }
    }
}
