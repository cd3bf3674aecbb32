extension ReconnectPolicy.Configuration {
    /// The default: an application with a user, who waits for the connection.
    public static let interactive = Self()

    /// A program on a server, for example a bot. While no server listens it tries for a day as often as an interactive
    /// application does for five minutes, and a pending message waits 1 s at most between attempts.
    public static let server = Self(notListeningPeriod: .seconds(86_400), pendingCap: .seconds(1))

    /// A device that saves energy and need not be reached at once: attempts begin at 2 s and rise to 5 min, also while
    /// no server listens, and to 24 s while a message waits.
    public static let calm = Self(
        base: .seconds(2), cap: .seconds(300), notListeningCap: .seconds(300), notListeningPeriod: .zero,
        pendingCap: .seconds(24))
}
