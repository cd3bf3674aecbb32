@testable import MartletPostgres

extension PostgresStore.Configuration {
    /// Deadlines that do not pass on a busy machine.
    static func patient(
        retention: PostgresRetention = PostgresRetention(), at now: UInt64 = 1000, isShared: Bool = true
    ) -> Self {
        var configuration = Self()
        configuration.retention = retention
        configuration.wallClock = { now }
        configuration.isShared = isShared
        (configuration.deadlines.connect, configuration.deadlines.statement) = (.seconds(3600), .seconds(3600))
        return configuration
    }
}

extension PostgresStore {
    /// A store whose deadlines do not pass on a busy machine.
    static func patient(
        _ uri: String, retention: PostgresRetention = PostgresRetention(), at now: UInt64 = 1000,
        isShared: Bool = true,
        onEvent: @escaping @Sendable (PostgresEvent) -> Void = { _ in }
    ) async throws -> PostgresStore {
        try await PostgresStore(
            uri, configuration: .patient(retention: retention, at: now, isShared: isShared), onEvent: onEvent)
    }
}

extension PostgresShards {
    /// The same over several databases.
    static func patient(
        _ databases: [String: String], retention: PostgresRetention = PostgresRetention(), isShared: Bool = true,
        onEvent: @escaping @Sendable (String, PostgresEvent) -> Void = { _, _ in }
    ) async throws -> PostgresShards {
        try await PostgresShards(
            databases.map { ($0.key, $0.value) }, configuration: .patient(retention: retention, isShared: isShared),
            onEvent: onEvent)
    }

    /// `check` with such deadlines.
    static func patientCheck(_ databases: [String: String]) async throws {
        let deadlines = PostgresStore.Configuration.patient().deadlines
        _ = try await ShardClaim(databases.map { ($0.key, $0.value) }, deadlines).check()
    }
}
