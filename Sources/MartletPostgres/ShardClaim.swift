/// What a database has kept about its place among several.
struct KeptPlace: Equatable, Sendable {
    /// Nil in a database that is not one of several, or was never used.
    var place: ShardPlace?
    /// Whether it has rooms, roles or membership records.
    var hasRecords = false

    /// The reason why a database cannot be used in a place, nil for one that is not one of several; nil if it can.
    func refusal(as given: ShardPlace?) -> PostgresError? {
        guard place != given else { return nil }
        guard let given, let place else {
            if let given, !hasRecords { return .unclaimed(given: given.description) }
            return .wrongShard(found: place?.description, given: given?.description)
        }
        let hasNames = place.own == given.own && place.names == given.names
        return hasNames
            ? .otherInstallation(given: given.description)
            : .wrongShard(found: place.description, given: given.description)
    }
}

/// The decision whether databases are those of one installation.
///
/// A start claims databases without a place in the opposite order of their names. The first one is claimed last: if it
/// has a place, each of the others had one.
struct ShardClaim {
    let shards: RoomShards
    /// In the order of their names.
    let databases: [(name: String, uri: String)]
    private let deadlines: PostgresMachine.Deadlines

    /// - Throws: `PostgresError.invalidShards`.
    init(
        _ databases: [(name: String, uri: String)],
        _ deadlines: PostgresMachine.Deadlines = PostgresMachine.Deadlines()
    ) throws(PostgresError) {
        shards = try RoomShards(databases.map { $0.name })
        self.databases = databases.sorted { $0.name < $1.name }
        self.deadlines = deadlines
    }

    /// Reads what the databases have kept, and changes nothing.
    ///
    /// - Parameter isUsed: Whether each database must have a place.
    /// - Returns: The ID of the installation; nil if no database has one.
    /// - Throws: `PostgresShards.Failure`.
    func check(isUsed: Bool = false) async throws -> String? {
        var kept = try await read()
        // A start at the same time may have claimed the databases after they were read.
        if kept.contains(where: { $0.place != nil }), kept.contains(where: { $0.place == nil }) {
            kept = try await read()
        }
        return try Self.installation(kept, shards, isUsed: isUsed)
    }

    /// The places of databases that were used before.
    ///
    /// - Throws: `PostgresShards.Failure`.
    func places() async throws -> [ShardPlace] {
        let installation = try await check(isUsed: true) ?? ""
        return shards.names.map { ShardPlace($0, in: shards, of: installation) }
    }

    /// The places of the databases, which keep them if this is their first use.
    ///
    /// - Throws: `PostgresShards.Failure`.
    func claim() async throws -> [ShardPlace] {
        let found = try await check()
        var installation = found ?? (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 16) }.joined()
        for (index, (name, uri)) in databases.enumerated().reversed() {
            let place = ShardPlace(name, in: shards, of: installation)
            // Of starts at the same time, the one that claims the last database names the installation.
            let adopts = found == nil && index == databases.count - 1
            let kept = try await Self.naming(name) {
                try await PostgresConnection.once(uri, deadlines) { connection throws(PostgresError) in
                    try await PostgresSchema.prepare(connection, creates: true)
                    return try await PostgresSchema.claim(place, adopts: adopts, connection)
                }
            }
            installation = kept.installation
        }
        return shards.names.map { ShardPlace($0, in: shards, of: installation) }
    }

    private func read() async throws -> [KeptPlace] {
        var kept: [KeptPlace] = []
        for (name, uri) in databases {
            kept.append(
                try await Self.naming(name) {
                    try await PostgresConnection.once(uri, deadlines) { connection throws(PostgresError) in
                        try await PostgresSchema.kept(connection)
                    }
                })
        }
        return kept
    }

    /// Errors have the name of their database.
    private static func naming<Value>(_ name: String, _ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch { throw PostgresShards.Failure(database: name, cause: error) }
    }

    /// The ID of the installation; nil if no database has one. Databases without a place can be claimed if the first
    /// one has none, and no database has records.
    static func installation(
        _ kept: [KeptPlace], _ shards: RoomShards, isUsed: Bool
    ) throws(PostgresShards.Failure) -> String? {
        let installation = kept.lazy.compactMap { $0.place?.installation }.first
        let isUsed = isUsed || kept.first?.place != nil || kept.contains { $0.hasRecords }
        // The cause of a fault is a database with a place or with records rather than one without.
        let named = Array(zip(shards.names, kept))
        let known = named.filter { $0.1.place != nil || $0.1.hasRecords }
        let others = named.filter { $0.1 == KeptPlace() && isUsed }
        for (name, kept) in known + others {
            if let refusal = kept.refusal(as: ShardPlace(name, in: shards, of: installation ?? "")) {
                throw PostgresShards.Failure(database: name, cause: refusal)
            }
        }
        return installation
    }
}
