public import MartletWire

/// A reader's place in a room: which log, and the highest offset of it that the reader has got.
///
/// An application that keeps its place keeps both. A relay that lost its log gives out the same offsets again, and an
/// offset alone does not say of which log it is.
public struct RoomCursor: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The log; nil when it is not known, as with a relay that does not name its logs.
    public var log: LogID?
    /// The highest offset given to the application or told to it as missing; 0 is before the first.
    public var offset: UInt64

    /// A place in a log.
    public init(log: LogID? = nil, offset: UInt64) {
        self.log = log
        self.offset = offset
    }

    /// The offset, and the log in hexadecimal where it is known.
    public var description: String {
        log.map { "\(offset) of \($0)" } ?? "\(offset)"
    }

    /// Goes on to a later place: a higher offset of the same log, or any of another log.
    public mutating func advance(to later: RoomCursor) {
        if later.log != log || later.offset > offset { self = later }
    }
}
