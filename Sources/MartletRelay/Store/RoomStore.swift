public import MartletProtocol
public import MartletWire

/// Where rooms' logs are kept: what a relay has to do with a disk or a database.
///
/// What `append` has returned from is accepted: it must survive whatever the store promises to survive. Calls for
/// different rooms may run at the same time; a room has at most one `append` under way, and none before its `load`
/// has returned. What a method throws is reported as `RelayEvent.storeFailed`, and the sessions concerned are reset
/// with `storeUnavailable`.
public protocol RoomStore: Sendable {
    /// What there is of a room; the snapshot of an empty room when there is nothing. Its `log` is the same each time,
    /// also for an empty room, for as long as the offsets that were given out hold; it is another one when they are
    /// lost.
    func load(_ room: RoomName) async throws -> RoomSnapshot

    /// Makes messages durable, all or none; their offsets continue the room's head without a gap. Throws `LogLost` when
    /// the store no longer has the log that `load` named.
    func append(_ entries: [LogEntry], to room: RoomName) async throws

    /// The messages in a range that are still kept, ascending.
    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory
}

/// What a store throws from `append` when it has lost the room's log since it was loaded. All sessions of the room are
/// reset with `storeUnavailable` and the relay loads it anew; their clients see another log.
public struct LogLost: Error {
    /// The log is lost.
    public init() {}
}

/// A store that answers at once: it is called on the relay's loop, without a task for each batch.
///
/// While a method runs nothing else happens on that loop, so it must not wait for a disk or a lock that is held for
/// long.
public protocol ImmediateRoomStore: RoomStore {
    /// See `RoomStore`.
    func load(_ room: RoomName) throws -> RoomSnapshot

    /// See `RoomStore`.
    func append(_ entries: [LogEntry], to room: RoomName) throws

    /// See `RoomStore`.
    func read(_ range: ReadRange, of room: RoomName) throws -> RoomHistory
}

/// A stretch of a room's log, as a store has it.
public struct RoomHistory: Sendable {
    /// Messages with ascending offsets.
    public var entries: [LogEntry]
    /// The lowest offset still kept; one past the head when nothing is.
    public var first: UInt64

    /// Messages, and where the log begins now.
    public init(entries: [LogEntry], first: UInt64) {
        self.entries = entries
        self.first = first
    }
}
