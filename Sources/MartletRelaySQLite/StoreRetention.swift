import MartletDatabase

/// The bounds of a relay's store on disk. Whole batches are removed, so a bound can be exceeded by one batch.
public struct StoreRetention: Equatable, Sendable {
    /// The duration for which a room without messages is kept after its last use, in milliseconds.
    static let roomLifetime: UInt64 = 30 * 24 * 3600 * 1000  // bound
    /// The same for a room that never had a message, in milliseconds.
    static let emptyRoomLifetime: UInt64 = 24 * 3600 * 1000  // bound

    /// The maximum number of messages of a room, at least 1.
    public var maxMessagesPerRoom = 100_000  // bound
    /// The maximum size of the bodies of a room, in bytes. The newest batch is kept even if it is larger.
    public var maxByteCountPerRoom = 64 * 1024 * 1024  // bound
    /// The maximum age of a message, in milliseconds of the wall clock; nil for any.
    public var maxAge: Int?  // bound
    /// The maximum size of the bodies of all rooms, in bytes; nil for any. The least recently used rooms lose their
    /// oldest messages first.
    public var maxByteCount: Int?  // bound

    /// Creates the default bounds.
    public init() {}
}
