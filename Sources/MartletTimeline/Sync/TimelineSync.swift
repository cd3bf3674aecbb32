public import Martlet
import MartletDatabase
import MartletTransport
public import MartletWire

/// The place of a command among those of its room.
package typealias CommandTurn = CallOrder<RoomName>.Turn

/// Connects a client with a timeline, so that timeline, outbox and relay agree after any restart.
///
/// `open(room:)` opens a room at the cursor of the timeline, with or without a connection. ``SyncedRoom`` has the
/// commands. A command returns when the outbox has stored the user's intent and the timeline shows it; the relay
/// receives it when there is a connection. ``run()`` applies what the relay sends and records the outcomes of messages:
///
/// ```swift
/// let sync = TimelineSync(client, timeline)
/// try await withClient(client) { _ in
///     let lobby = try await sync.open(room: "lobby")
///     try await lobby.send("hello")
///     try await sync.run()
/// }
/// ```
///
/// | state of a room | left by |
/// |---|---|
/// | opening: the client opens it, and the timeline is compared with the outbox | open; an error, to closed |
/// | open, commands are accepted; items and outcomes are applied while `run` runs | the end of the room or of the client |
/// | closed | `open` |
///
/// A room is opened with the messages of this device included (`Room.Options.includesOwnMessages`), so that the file
/// can be rebuilt from the log alone.
///
/// Use one object for a client and a timeline, and no other iteration over the messages of its rooms. After the error
/// `corrupt`, stop the client and open both again.
///
/// The commands of a room take effect in the order of the calls, from any isolation: each takes its place before its
/// method suspends.
public final class TimelineSync: Sendable {
    /// The options of a synchronization.
    public struct Options: Sendable {
        /// The number of latest messages with which a room begins if the timeline does not know it; nil for the whole
        /// log. ``SyncedRoom/fetchEarlier(limit:)`` adds earlier messages.
        public var initialMessageCount: Int? = 256
        /// Whether an account may delete messages of others in a room (M-9). It is called on other threads.
        public var isModerator: @Sendable (_ room: RoomName, AccountName) -> Bool = { _, _ in false }

        /// Creates the default options.
        public init() {}
    }

    private struct State {
        var rooms: [RoomName: SyncedRoom] = [:]
        /// Rooms of the client whose comparison with the timeline has failed.
        var incomplete: [RoomName: SyncedRoom] = [:]
        /// The calls that wait for the opening of a room, in their order.
        var opening: [RoomName: [Promise<SyncedRoom>]] = [:]
        /// The rooms for `run`; nil while it does not run.
        var arrivals: AsyncStream<SyncedRoom>.Continuation?
    }

    /// The client.
    public let client: Client
    /// The timeline.
    public let timeline: Timeline
    private let options: Options
    private let state = Guarded(State())
    /// The order of the commands of each room, by the bytes of its name.
    private let order = CallOrder<RoomName>()

    /// Connects a client with the timeline of its account.
    public init(_ client: Client, _ timeline: Timeline, options: Options = Options()) {
        self.client = client
        self.timeline = timeline
        self.options = options
    }

    /// The open rooms, sorted by name.
    public var rooms: [SyncedRoom] {
        state.withLock { $0.rooms.values.sorted { $0.name < $1.name } }
    }

    // MARK: Opening

    /// Opens a room, or returns the one that is open. It does not wait for a connection.
    ///
    /// The method synchronizes the timeline with the outbox, and performs the retries and removals that an earlier
    /// process has begun. The cancellation of the calling task does not prevent the opening. Calls that wait for the
    /// same opening return in their order.
    ///
    /// - Throws: `invalidName`, `roomAlreadyOpen` if the application has opened the room otherwise; `tooManyRooms` if
    ///   `Configuration.maxRooms` rooms are open, until ``close(room:)`` closes one; `notStarted`, `stopped`,
    ///   `outboxFailed`; `DatabaseError`, `otherAccount` if the client and the timeline have different accounts.
    nonisolated(nonsending) public func open(room name: String) async throws -> SyncedRoom {
        try await open(room: try roomName(name))
    }

    /// Opens a room, or returns the one that is open, as ``open(room:)-(String)`` does.
    nonisolated(nonsending) public func open(room name: RoomName) async throws -> SyncedRoom {
        guard client.account == timeline.account else {
            throw DatabaseError.otherAccount(timeline.account, path: timeline.path)
        }
        let promise = Promise<SyncedRoom>()
        let (room, isFirst) = state.withLock { state -> (SyncedRoom?, Bool) in
            let isOpening = state.opening[name] != nil
            if !isOpening, let room = state.rooms[name], !room.room.hasEnded { return (room, false) }
            state.opening[name, default: []].append(promise)
            return (nil, !isOpening)
        }
        if let room { return room }
        if isFirst {
            client.startTask { [self] in
                let result: Result<SyncedRoom, any Error>
                do { result = .success(try await opened(name)) } catch { result = .failure(error) }
                let waiting = state.withLock { $0.opening.removeValue(forKey: name) ?? [] }
                for promise in waiting { promise.resolve(result) }
            }
        }
        return try await promise.value()
    }

    /// Gives a command of a room its place. Commands have the order of the calls of this method, while the room is
    /// being opened, too.
    package func turn(in room: RoomName) -> CommandTurn { order.enter(room) }

    private func opened(_ name: RoomName) async throws -> SyncedRoom {
        let room: SyncedRoom
        if let incomplete = state.withLock({ $0.incomplete[name] }), !incomplete.room.hasEnded {
            room = incomplete
        } else {
            room = SyncedRoom(try await openedByClient(name), timeline, client, order) { [options] in
                options.isModerator(name, $0)
            }
            state.withLock { $0.incomplete[name] = room }
        }
        try await timeline.list(name)
        try await room.restore()
        state.withLock { state in
            state.incomplete[name] = nil
            state.rooms[name] = room
            _ = state.arrivals?.yield(room)
        }
        timeline.publish(name)
        return room
    }

    private func openedByClient(_ name: RoomName) async throws -> Room {
        let from: Room.Options.From =
            if let cursor = try await timeline.cursor(of: name) {
                .cursor(cursor)
            } else if let count = options.initialMessageCount {
                .latest(count: count)
            } else {
                .start
            }
        return try await client.open(
            room: name, options: Room.Options(from: from, includesOwnMessages: true, waitsForRelay: false))
    }

    /// Closes a room. Messages that are not accepted fail, those already sent with `outcomeUnknown`, others with
    /// `closed`; the timeline shows them as failed, until the log has them.
    nonisolated(nonsending) public func close(room name: RoomName) async {
        await state.withLock { $0.rooms[name] }?.room.close()
    }

    // MARK: Running

    /// Applies the items of all open rooms, and of rooms that are opened later, records the outcomes of messages, and
    /// stores the list of the account's rooms (`Client.roomUpdates`), until the client has stopped. The end of one
    /// room does not end it.
    ///
    /// After an error the method can be called again, and continues after the last applied item.
    ///
    /// - Throws: `DatabaseError` if the timeline cannot be written, `closed` after ``Timeline/close()``;
    ///   `outboxFailed`; `alreadyIterating` if another call runs, or the application iterates over the messages of a
    ///   room; `CancellationError`.
    nonisolated(nonsending) public func run() async throws {
        let (rooms, arrivals) = AsyncStream.makeStream(of: SyncedRoom.self)
        try state.withLock { state throws(MartletError) in
            guard state.arrivals == nil else { throw .alreadyIterating }
            state.arrivals = arrivals
            for room in state.rooms.values { arrivals.yield(room) }
        }
        defer { state.withLock { $0.arrivals = nil } }
        let changes = timeline.changes
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run(rooms, arrivals) }
            group.addTask {
                for await _ in changes {}
                try Task.checkCancellation()
                throw DatabaseError.closed
            }
            _ = try await group.next()
            group.cancelAll()
        }
    }

    private func run(
        _ rooms: AsyncStream<SyncedRoom>, _ arrivals: AsyncStream<SyncedRoom>.Continuation
    ) async throws {
        let status = client.status
        let updates = client.roomUpdates
        let outcomes = client.keptOutcomes
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                for await _ in status {}
                arrivals.finish()
            }
            group.addTask {
                try await Self.perform(endingOnError: arrivals) {
                    for await update in updates { try await self.timeline.apply(update) }
                }
            }
            group.addTask {
                try await Self.perform(endingOnError: arrivals) {
                    for await outcomes in outcomes { try await self.settle(outcomes) }
                }
            }
            for await room in rooms {
                group.addTask {
                    try await Self.perform(endingOnError: arrivals) { try await room.run() }
                    self.remove(room)
                }
            }
            try Task.checkCancellation()
        }
    }

    private static func perform(
        endingOnError arrivals: AsyncStream<SyncedRoom>.Continuation, _ body: () async throws -> Void
    ) async throws {
        do { try await body() } catch {
            arrivals.finish()
            throw error
        }
    }

    /// Records outcomes of messages in rooms that are not open. The log states the place of an accepted message when
    /// the room is opened, which also performs the intents.
    private func settle(_ outcomes: [OutboxOutcome]) async throws {
        let (rooms, opening) = state.withLock { ($0.rooms, $0.opening) }
        for (room, outcomes) in Dictionary(grouping: outcomes, by: \.room) {
            guard rooms[room] == nil, opening[room] == nil else { continue }
            let unsettled = try await timeline.unsettled(in: room).filter { $0.intent == nil }.map(\.id)
            let steps = outcomes.filter { unsettled.contains($0.id) }.map { outcome -> OutgoingStep in
                guard case .accepted = outcome.result else { return .settle(outcome.id, outcome.result, log: nil) }
                return .settle(outcome.id, .accepted(offset: 0), log: nil)
            }
            try await timeline.perform(steps, in: room)
        }
    }

    /// Removes a room that has ended.
    private func remove(_ room: SyncedRoom) {
        state.withLock { state in
            if state.rooms[room.name] === room { state.rooms[room.name] = nil }
        }
    }
}
