extension ClientDriver {
    /// Passes an event to the logger of the configuration, if there is one.
    func log(
        _ level: Client.LogEvent.Level, _ name: String, _ message: @autoclosure () -> String, in room: RoomCore? = nil,
        concernsEarlierClient: Bool = false
    ) {
        guard let logger = configuration.logger else { return }
        logger(
            Client.LogEvent(
                level: level, name: name, account: life.identity.account, room: room?.name.text,
                concernsEarlierClient: concernsEarlierClient, message: PrintableText.line(message())))
    }
}
