import MartletWire

/// Input of connections that have spent their budget of a turn, in the order in which they are read on.
///
/// A connection is in it at most once, and its socket is not read meanwhile: what waits is at most one read of each.
struct UnreadInput {
    /// What is left of one connection's input.
    struct Part {
        let connection: ConnectionKey
        fileprivate(set) var bytes: [UInt8]
        /// Bytes of them that have been read.
        var readByteCount = 0
        /// Whether the peer will send no more.
        var isLast = false

        var byteCount: Int { bytes.count - readByteCount }
    }

    private var parts = Deque<Part>()
    /// Bytes that wait on all connections.
    private(set) var byteCount = 0

    var isEmpty: Bool { parts.isEmpty }

    /// Keeps what a connection has sent and was not read.
    mutating func append(_ bytes: RawSpan, of connection: ConnectionKey) {
        append(Part(connection: connection, bytes: [UInt8](copying: bytes)))
    }

    mutating func append(_ part: consuming Part) {
        byteCount += part.byteCount
        parts.append(part)
    }

    /// More comes of a connection that waits already.
    mutating func extend(_ connection: ConnectionKey, with bytes: RawSpan) {
        guard let index = parts.indices.first(where: { parts[$0].connection == connection }) else { return }
        parts[index].bytes.append(bytes: bytes)
        byteCount += bytes.byteCount
    }

    /// The peer of a connection that waits will send no more.
    mutating func noteEnd(of connection: ConnectionKey) {
        guard let index = parts.indices.first(where: { parts[$0].connection == connection }) else { return }
        parts[index].isLast = true
    }

    /// The one that has waited for longest.
    mutating func popFirst() -> Part? {
        guard let part = parts.popFirst() else { return nil }
        byteCount -= part.byteCount
        return part
    }
}
