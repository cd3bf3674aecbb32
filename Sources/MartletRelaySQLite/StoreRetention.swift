import MartletDatabase

/// The bounds of a relay's store on disk. Whole batches are removed, so a bound can be exceeded by one batch.
public struct StoreRetention: Equatable, Sendable {
    /// The duration for which a room without messages is kept after its last use, in milliseconds: 30 days, and one day
    /// for a room that never had a message.
    static let roomLifetime: UInt64 = 30 * 24 * 3600 * 1000
    static let emptyRoomLifetime: UInt64 = 24 * 3600 * 1000

    /// The maximum number of messages of a room, at least 1.
    public var maxMessagesPerRoom = 100_000
    /// The maximum size of the bodies of a room, in bytes. The newest batch is kept even if it is larger.
    public var maxByteCountPerRoom = 64 * 1024 * 1024
    /// The maximum age of a message, in milliseconds of the wall clock; nil for any.
    public var maxAge: Int?
    /// The maximum size of the bodies of all rooms, in bytes; nil for any. The least recently used rooms lose their
    /// oldest messages first.
    public var maxByteCount: Int?

    /// Creates the default bounds.
    public init() {}
}
