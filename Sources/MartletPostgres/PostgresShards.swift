import MartletLink
public import MartletRelay
import MartletTransport
import MartletWire

/// A store in one database or several.
package protocol DatabaseStore: RoomStore {
    /// The bus of the relays that share the store.
    var bus: PostgresBus { get }
    /// Whether the store has roles of rooms.
    func hasRoles() async throws -> Bool
    /// Calls fail from now on while their database is away.
    func endWaiting() async
    /// Ends the connections.
    func close() async
}

extension PostgresStore: DatabaseStore {}

/// A store of rooms that are spread over several databases of PostgreSQL by their names.
///
/// Everything about a room is in one database, so no transaction concerns two of them. A call for a room waits
/// for its database only. Lists of rooms have parts of all databases, and wait for all.
public final class PostgresShards: DatabaseStore {
    /// A database could not be opened or used.
    public struct Failure: Error, CustomStringConvertible {
        /// The name of the database.
        public let database: String
        /// The error of its store.
        public let cause: any Error
        /// The name and the cause.
        public var description: String { "database \(database): \(cause)" }
    }

    private final class Part: Sendable {
        let store: PostgresStore
        /// The number of calls `changes` that have no answer.
        let checkCount = Guarded(0)

        init(_ store: PostgresStore) { self.store = store }
    }

    /// A call `changes` whose parts wait for databases.
    private struct WaitingChecks {
        /// Nil once it is used.
        var reply: RoomStoreReply<[RoomRevision]>?
        /// The number of databases that have not answered.
        var count: Int

        /// The reply of the call if an answer is that of the call: the first success, or the last failure.
        mutating func answered(
            _ answer: Result<[RoomRevision], RoomStoreError>
        ) -> RoomStoreReply<[RoomRevision]>? {
            count -= 1
            if case .failure = answer, count > 0 { return nil }
            return reply.take()
        }
    }

    /// The maximum number of calls `changes` that wait for a database. Further ones leave its rooms out.
    static let maxCheckCount = 64

    private let shards: RoomShards
    private let parts: [Part]
    private let observer = Guarded<@Sendable ([RoomRevision]) -> Void>({ _ in })
    /// The bounds of each room.
    public let retention: RoomRetention
    /// Those of `PostgresStore`.
    public let features: RoomStoreFeatures

    /// Opens the databases, each of which keeps its name and the names of the others.
    ///
    /// - Parameters:
    ///   - databases: The names and URIs of 1 to 16 databases, in any order. A name has 1 to 32 lower-case letters,
    ///     digits, hyphens and underscores. The names never change after the first start.
    ///   - configuration: The configuration of the store in each database.
    ///   - onEvent: Takes the events with the name of their database, on any thread.
    /// - Throws: `PostgresError.invalidShards`, and `Failure` with the first database that cannot be opened, whose
    ///   cause is `PostgresError.wrongShard`, `otherInstallation` or `unclaimed` if it was not used with these names
    ///   and the other databases before, unlike one of them.
    public init(
        _ databases: [(name: String, uri: String)],
        configuration: PostgresStore.Configuration = PostgresStore.Configuration(),
        onEvent: @escaping @Sendable (_ database: String, PostgresEvent) -> Void = { _, _ in }
    ) async throws {
        let claim = try ShardClaim(databases, configuration.deadlines)
        let places = try await claim.claim()
        var parts: [Part] = []
        var name = ""
        do {
            for (database, place) in zip(claim.databases, places) {
                name = database.name
                var configuration = configuration
                configuration.place = place
                let store = try await PostgresStore(database.uri, configuration: configuration) {
                    onEvent(place.own, $0)
                }
                parts.append(Part(store))
            }
            for (part, database) in zip(parts, claim.databases) {
                name = database.name
                try await part.store.leaveCopy()
            }
        } catch {
            for part in parts { await part.store.close() }
            throw Failure(database: name, cause: error)
        }
        (shards, self.parts) = (claim.shards, parts)
        (retention, features) = (parts[0].store.retention, parts[0].store.features)
    }

    /// Checks that the databases are reachable and fit for the store, and changes nothing.
    ///
    /// - Throws: As the initializer.
    public static func check(_ databases: [(name: String, uri: String)]) async throws {
        _ = try await ShardClaim(databases).check()
    }

    /// The bus of the database with the first name, which all relays have in common.
    public var bus: PostgresBus { parts[0].store.bus }

    package func hasRoles() async throws -> Bool {
        for part in parts where try await part.store.hasRoles() { return true }
        return false
    }

    /// Calls fail from now on while their database is away, so that a relay can end.
    public func endWaiting() async {
        for part in parts { await part.store.endWaiting() }
    }

    /// Completes the waiting calls of the databases that answer, and ends the connections. Later calls fail.
    public func close() async {
        await withDiscardingTaskGroup { group in
            for part in parts { group.addTask { await part.store.close() } }
        }
    }

    /// Reports what other relays change in any of the databases.
    public func observe(_ report: @escaping @Sendable ([RoomRevision]) -> Void) {
        observer.withLock { $0 = report }
        for part in parts { part.store.observe(report) }
    }

    /// Delays the reports of all databases, and returns the key of the one with the first name.
    public func beginBus() -> [UInt8]? { parts.map { $0.store.beginBus() }[0] }

    // MARK: Calls

    /// Passes each call to the database of its room, or to several.
    public func perform(_ calls: [RoomStoreCall]) {
        var passed = [[RoomStoreCall]](repeating: [], count: parts.count)
        for call in calls {
            switch call {
            case .load(let room, _), .read(_, let room, _), .saveProgress(_, let room, _),
                .saveRoles(_, let room, _, _, _), .saveMemberships(_, let room, _), .saveRetention(_, let room, _):
                passed[shards.place(of: room)].append(call)
            case .append(let append, _): passed[shards.place(of: append.room)].append(call)
            case .touch(let rooms, let reply):
                let places = Dictionary(grouping: rooms) { shards.place(of: $0) }
                let replies = Self.replies(places.count, to: reply) { (_: [Void]) in }
                for (place, reply) in zip(places, replies) { passed[place.key].append(.touch(place.value, reply)) }
            case .readMemberships(let read, let account, let reply):
                let reads = divide(read)
                let replies = Self.replies(reads.count, to: reply) { Self.merge($0, read) }
                for (read, reply) in zip(reads, replies) {
                    passed[read.key].append(.readMemberships(read.value, of: account, reply))
                }
            case .listRooms(let read, let reply):
                for (place, reply) in Self.replies(parts.count, to: reply, { Self.merge($0, read) }).enumerated() {
                    passed[place].append(.listRooms(read, reply))
                }
            case .changes(let known, let reply):
                for (place, call) in checks(of: known, reply) { passed[place].append(call) }
            }
        }
        for (part, calls) in zip(parts, passed) where !calls.isEmpty { part.store.perform(calls) }
    }

    /// Replies of several databases, whose values together answer a call. Its error is one of theirs.
    private static func replies<Part: Sendable, Value: Sendable>(
        _ count: Int, to reply: RoomStoreReply<Value>, _ merge: @escaping @Sendable ([Part]) -> Value
    ) -> [RoomStoreReply<Part>] {
        guard count > 0 else {
            reply.succeed(merge([]))
            return []
        }
        let answers = Guarded<[Result<Part, RoomStoreError>]>([])
        return (0..<count).map { _ in
            RoomStoreReply { answer in
                let all = answers.withLock { answers in
                    answers.append(answer)
                    return answers.count == count ? answers : nil
                }
                if let all { reply.complete { merge(try all.map { try $0.get() }) } }
            }
        }
    }

    /// The parts of a read of an account's rooms.
    private func divide(_ read: MembershipRead) -> [Int: MembershipRead] {
        guard case .rooms(let progress) = read else {
            return Dictionary(uniqueKeysWithValues: parts.indices.map { ($0, read) })
        }
        return Dictionary(grouping: progress) { shards.place(of: $0.key) }
            .mapValues { .rooms(Dictionary(uniqueKeysWithValues: $0.map { ($0.key, $0.value) })) }
    }

    static func merge(_ parts: [[StoredRoomEntry]], _ read: MembershipRead) -> [StoredRoomEntry] {
        let sorted = parts.joined().sorted { $0.room < $1.room }
        return if case .page(_, let maxCount, _) = read { Array(sorted.prefix(max(maxCount, 0))) } else { sorted }
    }

    /// The rooms up to the first one behind which a database may have more.
    static func merge(_ pages: [StoredRoomPage], _ read: RoomListRead) -> StoredRoomPage {
        let end = pages.compactMap(\.next).min()
        let rooms = pages.flatMap(\.rooms).filter { room in end.map { room.name <= $0 } ?? true }
            .sorted { $0.name < $1.name }
        guard rooms.count > read.limit else { return StoredRoomPage(rooms: rooms, next: end) }
        return StoredRoomPage(rooms: Array(rooms.prefix(read.limit)), next: rooms.prefix(read.limit).last?.name)
    }

    /// The calls about changed rooms. The first success is the answer of the call, so that it does not wait for a
    /// database that is away, and later ones are reports. A call that does not ask every database is answered at once,
    /// since those that it asks may all be away.
    private func checks(
        of known: [RoomRevision], _ reply: RoomStoreReply<[RoomRevision]>
    ) -> [(place: Int, call: RoomStoreCall)] {
        let places = Dictionary(grouping: known) { shards.place(of: $0.room) }
            .filter { parts[$0.key].checkCount.withLock { $0 } < Self.maxCheckCount }
        let isAnswered = places.count < parts.count
        if isAnswered { reply.succeed([]) }
        let waiting = Guarded(WaitingChecks(reply: isAnswered ? nil : reply, count: places.count))
        return places.map { place, known in
            parts[place].checkCount.withLock { $0 += 1 }
            let part = RoomStoreReply<[RoomRevision]> { [weak self] answer in
                self?.parts[place].checkCount.withLock { $0 -= 1 }
                if let reply = waiting.withLock({ $0.answered(answer) }) {
                    reply.complete(answer.mapError { $0 as any Error })
                } else if case .success(let found) = answer, !found.isEmpty {
                    self?.observer.withLock({ $0 })(found)
                }
            }
            return (place, .changes(since: known, part))
        }
    }
}
