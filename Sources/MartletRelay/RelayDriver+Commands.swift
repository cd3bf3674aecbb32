import MartletLink
import MartletWire

/// Commands of the relay's application to rooms of this loop.
extension RelayDriver {
    /// Performs a command. The continuation is resumed with its result.
    func perform(
        _ command: RoomCommand, in room: RoomName, _ continuation: CheckedContinuation<RoomCommandResult, Never>
    ) {
        guard !drivers.isEmpty else { return continuation.resume(returning: .failure(.notRunning)) }
        enter()
        commandCount += 1
        commands[commandCount] = continuation
        engine.perform(command, in: room, id: commandCount)
    }

    /// Ends the commands without a result: the relay has stopped.
    func failCommands() {
        for continuation in commands.values { continuation.resume(returning: .failure(.notRunning)) }
        commands = [:]
    }
}
