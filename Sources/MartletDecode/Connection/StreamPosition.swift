/// The role of a peer on a connection.
public enum PeerRole: String, Sendable {
    case client, server

    /// The role of the other peer.
    public var other: PeerRole { self == .client ? .server : .client }
}

/// One of the two directions of a connection. The client's direction can be unknown at first.
public enum StreamDirection: Int, CaseIterable, Sendable {
    case first, second

    /// The opposite direction.
    public var other: StreamDirection { self == .first ? .second : .first }
}

/// A position in the input: the connection, the direction, and the offset in its stream.
public struct StreamPosition: Equatable, Sendable {
    /// The number of the connection, from 1; 0 for the capture as a whole.
    public var connection = 1
    /// The sender of the stream; nil if it is unknown.
    public var sender: PeerRole?
    /// The offset in the stream, in bytes.
    public var offset = 0
    /// The time of capture, in nanoseconds since 1970; nil outside of captures.
    public var time: UInt64?

    /// Creates a position.
    public init(connection: Int = 1, sender: PeerRole? = nil, offset: Int = 0, time: UInt64? = nil) {
        self.connection = connection
        self.sender = sender
        self.offset = offset
        self.time = time
    }
}
