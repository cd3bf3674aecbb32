import MartletLink
package import MartletWire

/// Commands of the relay's application.
extension RelayEngine {
    /// Performs a command of the relay's application in a room of this loop. The result is `.commandEnded`.
    ///
    /// - Parameter id: A number that no other command without a result has.
    package mutating func perform(_ command: RoomCommand, in room: RoomName, id: UInt64) {
        noteEvent()
        let account = configuration.reservedAccount
        if account == nil, command.publishes {
            sessions.outputs.append(.commandEnded(id, .failure(.noServerAccount)))
            return
        }
        let actor = DeviceKey(
            account: account ?? RoomRolesConfiguration().serverAccount, device: RoomRolesConfiguration.serverDevice)
        sessions.rooms.local.receive(.command(RoomCommandCall(id: id, room: room, command: command, actor: actor)))
    }
}
