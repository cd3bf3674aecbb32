package import MartletLink
package import MartletRelay
package import MartletWire

/// Databases over which rooms are spread, from which the rooms are copied.
package class ShardsTransferSource: TransferSource {
    package let identity: String
    fileprivate let shards: RoomShards
    private let parts: [PostgresTransferSource]
    /// The place of the room that was begun.
    fileprivate var place = 0

    /// Connects to the databases, whose names and URIs are given.
    ///
    /// - Throws: `PostgresError.invalidShards`, or `PostgresShards.Failure`.
    package convenience init(_ databases: [(name: String, uri: String)]) async throws {
        let claim = try ShardClaim(databases)
        let places = try await claim.places()
        self.init(claim.shards, try await Self.open(claim, places) { try await PostgresTransferSource($0, as: $1) })
    }

    fileprivate init(_ shards: RoomShards, _ parts: [PostgresTransferSource]) {
        (self.shards, self.parts) = (shards, parts)
        identity = zip(shards.names, parts).map { "\($0) = \($1.identity)" }.joined(separator: ", ")
    }

    fileprivate static func open<Part: PostgresTransferSource>(
        _ claim: ShardClaim, _ places: [ShardPlace], _ open: (String, ShardPlace) async throws -> Part
    ) async throws -> [Part] {
        var parts: [Part] = []
        for ((name, uri), place) in zip(claim.databases, places) {
            do { parts.append(try await open(uri, place)) } catch {
                for part in parts { await part.close() }
                throw PostgresShards.Failure(database: name, cause: error)
            }
        }
        return parts
    }

    /// The elements of pages in their order, up to the last one of the page that ends first: behind it the pages of
    /// others may lack some.
    private static func merge<Element>(_ pages: [[Element]], by key: (Element) -> [UInt8]) -> [Element] {
        guard let end = pages.compactMap({ $0.last.map(key) }).min(by: { $0.lexicographicallyPrecedes($1) }) else {
            return []
        }
        return pages.joined().filter { !end.lexicographicallyPrecedes(key($0)) }
            .sorted { key($0).lexicographicallyPrecedes(key($1)) }
    }

    nonisolated(nonsending) package func rooms(after room: RoomName?) async throws -> [RoomName] {
        var pages: [[RoomName]] = []
        for (place, part) in parts.enumerated() {
            pages.append(try await part.rooms(after: room))
            try check(pages[place], in: place)
        }
        return Self.merge(pages, by: \.bytes)
    }

    /// A room of a different database would be left out of the copy.
    private func check(_ rooms: [RoomName], in place: Int) throws(PostgresShards.Failure) {
        guard let room = rooms.first(where: { shards.place(of: $0) != place }) else { return }
        throw PostgresShards.Failure(database: shards.names[place], cause: PostgresError.misplaced(room: room.text))
    }

    nonisolated(nonsending) package func begin(_ room: RoomName) async throws -> TransferredRoom? {
        place = shards.place(of: room)
        return try await parts[place].begin(room)
    }

    nonisolated(nonsending) package func messages(from offset: UInt64) async throws -> [LogEntry] {
        try await parts[place].messages(from: offset)
    }

    nonisolated(nonsending) package func end() async throws { try await parts[place].end() }

    nonisolated(nonsending) package func records(
        of part: TransferredPart, after last: TransferredRecord?
    ) async throws -> [TransferredRecord] {
        var pages: [[TransferredRecord]] = []
        for (place, database) in parts.enumerated() {
            pages.append(try await database.records(of: part, after: last))
            try check(pages[place].map(\.room), in: place)
        }
        return Self.merge(pages, by: \.key)
    }

    nonisolated(nonsending) package func close() async {
        for part in parts { await part.close() }
    }
}

/// Databases that become a copy, over which the rooms are spread.
package final class ShardsTransferDestination: ShardsTransferSource, TransferDestination {
    private let targets: [PostgresTransferDestination]

    /// Connects to the databases, creates the tables in those that have none, and has them keep their names.
    ///
    /// - Throws: `PostgresError.invalidShards`, or `PostgresShards.Failure`.
    package convenience init(_ databases: [(name: String, uri: String)]) async throws {
        let claim = try ShardClaim(databases)
        let places = try await claim.claim()
        self.init(
            claim.shards, try await Self.open(claim, places) { try await PostgresTransferDestination($0, as: $1) })
    }

    private init(_ shards: RoomShards, _ targets: [PostgresTransferDestination]) {
        self.targets = targets
        super.init(shards, targets)
    }

    nonisolated(nonsending) package func beginCopy(of source: String) async throws {
        for target in targets { try await target.checkCopy(of: source) }
        for target in targets { try await target.beginCopy(of: source) }
    }

    nonisolated(nonsending) package func beginRoom(_ room: TransferredRoom, keepsMessages: Bool) async throws {
        place = shards.place(of: room.name)
        try await targets[place].beginRoom(room, keepsMessages: keepsMessages)
    }

    nonisolated(nonsending) package func add(_ messages: [LogEntry]) async throws {
        try await targets[place].add(messages)
    }

    nonisolated(nonsending) package func endRoom() async throws { try await targets[place].endRoom() }

    nonisolated(nonsending) package func remove(_ room: RoomName) async throws {
        try await targets[shards.place(of: room)].remove(room)
    }

    nonisolated(nonsending) package func beginPart(_ part: TransferredPart) async throws {
        for target in targets { try await target.beginPart(part) }
    }

    nonisolated(nonsending) package func add(_ records: [TransferredRecord]) async throws {
        for (place, records) in Dictionary(grouping: records, by: { shards.place(of: $0.room) }) {
            try await targets[place].add(records)
        }
    }

    nonisolated(nonsending) package func endPart() async throws {
        for target in targets { try await target.endPart() }
    }

    /// The first database, which a relay opens first, is complete last, so that no relay begins with some of them.
    nonisolated(nonsending) package func endCopy() async throws {
        for target in targets.reversed() { try await target.endCopy() }
    }
}

extension TransferredRecord {
    fileprivate var room: RoomName {
        switch self {
        case .roles(let room, _, _, _), .membership(let room, _, _), .retention(let room, _): room
        }
    }

    /// The place in the order of a part. Names have no zero byte.
    fileprivate var key: [UInt8] {
        guard case .membership(let room, let account, _) = self else { return room.bytes }
        return account.bytes + [0] + room.bytes
    }
}
