import MartletWire

/// The unread input of connections that have spent their budget of a turn, in the order in which they continue.
///
/// A connection is in it at most once. Its socket is not read meanwhile, so each has at most one read here.
struct UnreadInput {
    /// The unread input of one connection.
    struct Part {
        let connection: ConnectionKey
        fileprivate(set) var bytes: [UInt8]
        /// The number of bytes that were read.
        var readByteCount = 0
        /// Whether the end of the stream follows.
        var isLast = false

        var byteCount: Int { bytes.count - readByteCount }
    }

    private var parts = Deque<Part>()
    /// Unread bytes of all connections.
    private(set) var byteCount = 0

    var isEmpty: Bool { parts.isEmpty }

    /// Adds unread input of a connection.
    mutating func append(_ bytes: RawSpan, of connection: ConnectionKey) {
        append(Part(connection: connection, bytes: [UInt8](copying: bytes)))
    }

    mutating func append(_ part: consuming Part) {
        byteCount += part.byteCount
        parts.append(part)
    }

    /// Appends input to that of a connection with unread input.
    mutating func extend(_ connection: ConnectionKey, with bytes: RawSpan) {
        guard let index = parts.indices.first(where: { parts[$0].connection == connection }) else { return }
        parts[index].bytes.append(bytes: bytes)
        byteCount += bytes.byteCount
    }

    /// Notes the end of the stream of a connection with unread input.
    mutating func noteEnd(of connection: ConnectionKey) {
        guard let index = parts.indices.first(where: { parts[$0].connection == connection }) else { return }
        parts[index].isLast = true
    }

    /// Takes the input of the connection that has waited longest.
    mutating func popFirst() -> Part? {
        guard let part = parts.popFirst() else { return nil }
        byteCount -= part.byteCount
        return part
    }
}
