/// The position of a reader in a room: the identity of a log, and the highest offset of it that the reader has received
///
///
/// An application that stores its position stores both. A relay that lost its log assigns the same offsets again, so an
/// offset alone does not identify a message.
public struct RoomCursor: Hashable, Sendable, CustomStringConvertible {
    /// The identity of the log; nil if it is unknown, for example with a relay that does not identify its logs.
    public var log: LogID?
    /// The highest offset that was delivered to the application or reported to it as missing; 0 before the first.
    public var offset: UInt64

    /// Creates a position in a log.
    public init(log: LogID? = nil, offset: UInt64) {
        self.log = log
        self.offset = offset
    }

    /// The offset, and the log in hexadecimal if it is known.
    public var description: String {
        log.map { "\(offset) of \($0)" } ?? "\(offset)"
    }

    /// Advances to a later position: a higher offset of the same log, or any offset of another log.
    public mutating func advance(to later: RoomCursor) {
        if later.log != log || later.offset > offset { self = later }
    }
}

#if !hasFeature(Embedded)
    // The compiler synthesizes the conformance only in this file.
    extension RoomCursor: Codable {}
#endif
