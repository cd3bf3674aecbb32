@testable import MartletPostgres

extension PostgresStore {
    /// A store whose deadlines do not pass on a busy machine.
    static func patient(
        _ uri: String, retention: PostgresRetention = PostgresRetention(), at now: UInt64 = 1000,
        isShared: Bool = true,
        onEvent: @escaping @Sendable (PostgresEvent) -> Void = { _ in }
    ) async throws -> PostgresStore {
        var configuration = Configuration()
        configuration.retention = retention
        configuration.wallClock = { now }
        configuration.isShared = isShared
        (configuration.deadlines.connect, configuration.deadlines.statement) = (.seconds(3600), .seconds(3600))
        return try await PostgresStore(uri, configuration: configuration, onEvent: onEvent)
    }
}
