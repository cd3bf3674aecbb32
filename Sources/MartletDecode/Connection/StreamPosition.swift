/// The side of a connection that a peer is on.
public enum PeerRole: String, Sendable {
    case client, server

    /// The role of the peer.
    public var other: PeerRole { self == .client ? .server : .client }
}

/// One of the two directions of a connection. Which one the client sends on may be unknown at first.
public enum StreamDirection: Int, CaseIterable, Sendable {
    case first, second

    /// The opposite direction.
    public var other: StreamDirection { self == .first ? .second : .first }
}

/// A position in the input: the connection, the direction, and the offset in its stream.
public struct StreamPosition: Equatable, Sendable {
    /// The number of the connection, from 1; 0 for the capture as a whole.
    public var connection = 1
    /// The sender of the stream; `nil` while it is not known.
    public var sender: PeerRole?
    /// The offset in the stream, in bytes.
    public var offset = 0
    /// When the bytes were captured, in nanoseconds since 1970; `nil` outside captures.
    public var time: UInt64?

    /// Creates a position.
    public init(connection: Int = 1, sender: PeerRole? = nil, offset: Int = 0, time: UInt64? = nil) {
        self.connection = connection
        self.sender = sender
        self.offset = offset
        self.time = time
    }
}
