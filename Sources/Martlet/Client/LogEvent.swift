extension Client {
    /// An event for the log of an application; see ``Configuration/logger``.
    ///
    /// The raw values of the levels are those of swift-log. The following closure forwards events to its logger:
    ///
    /// ```swift
    /// configuration.logger = { event in
    ///     log.log(level: Logger.Level(rawValue: event.level.rawValue) ?? .info, "\(event)")
    /// }
    /// ```
    public struct LogEvent: Sendable, Hashable {
        /// The severity of an event.
        public enum Level: String, Sendable, CaseIterable {
            /// An event that is of interest during development only, for example a ping.
            case debug
            /// A change of state in normal operation.
            case info
            /// The client makes no more attempts, a message has failed, or the outbox is an earlier state or a copy.
            case warning
            /// The outbox has failed.
            case error
        }

        /// The severity.
        public let level: Level
        /// A stable key: `status` and the key of the phase, `room.opened`, `room.delayed`, `room.closed`,
        /// `message.failed`, `log.replaced`, `device.replaced` or `outbox.failed`.
        public let name: String
        /// The account of the client.
        public let account: AccountName
        /// The name of the room; nil if the event belongs to none.
        public let room: String?
        /// Whether the event is about a message of an earlier client with the same outbox, whose application may not
        /// have learned the outcome.
        public let concernsEarlierClient: Bool
        /// A description in one line, without the contents of messages.
        public let message: String
    }
}

extension Client.LogEvent: CustomStringConvertible {
    /// The account, the room and the message.
    public var description: String { "\(account)\(room.map { " in \($0)" } ?? ""): \(message)" }
}
