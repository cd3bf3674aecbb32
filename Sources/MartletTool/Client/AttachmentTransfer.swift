import Martlet
import MartletToolSupport

/// The transfer of an attachment by a command.
enum AttachmentTransfer {
    /// Connects, opens the room, and performs a transfer.
    static func run(
        _ arguments: ParsedArguments, agent: String, _ body: @escaping @Sendable (Room) async throws -> Void
    ) async throws {
        do {
            try await RoomTask.run(arguments, agent: agent) { _, room in try await body(room) }
        } catch is CancellationError {
            throw CommandError(.interrupted, "interrupted; the next command continues")
        } catch let error as MartletError where error.code == .fileFailed {
            throw CommandError(.inputOutput, error.reason ?? "")
        } catch let error as MartletError {
            throw CommandError(error)
        }
    }
}
