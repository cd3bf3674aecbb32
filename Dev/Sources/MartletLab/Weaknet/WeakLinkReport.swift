import MartletToolSupport

/// The report of a weak link.
struct WeakLinkReport: Equatable, Sendable {
    /// The number of accepted connections.
    var connectionCount = 0
    /// The number of connections whose target was unreachable.
    var unreachableCount = 0
    /// The number of bytes that arrived at servers.
    var upByteCount = 0
    /// The number of bytes that arrived at clients.
    var downByteCount = 0
    /// The number of cut connections.
    var cutCount = 0
    /// The number of bytes that did not arrive because their connection ended.
    var lostByteCount = 0
    /// The number of bytes with a flipped bit.
    var corruptedByteCount = 0
    /// The maximum number of bytes that one direction of a connection held.
    var maxHeldByteCount = 0

    /// The report as JSON.
    var json: JSONLine {
        .object([
            .init("event", .string("weaknet")), .init("connections", .count(connectionCount)),
            .init("unreachable", .count(unreachableCount)), .init("cuts", .count(cutCount)),
            .init("corrupted", .count(corruptedByteCount)), .init("bytesUp", .count(upByteCount)),
            .init("bytesDown", .count(downByteCount)), .init("bytesLost", .count(lostByteCount)),
            .init("maxHeld", .count(maxHeldByteCount)),
        ])
    }

    /// The report as text.
    var text: String {
        var parts = [
            "\(Quantity.grouped(connectionCount)) \(connectionCount == 1 ? "connection" : "connections")",
            "\(Quantity.text(byteCount: upByteCount)) up", "\(Quantity.text(byteCount: downByteCount)) down",
            "\(Quantity.grouped(cutCount)) cut", "\(Quantity.grouped(corruptedByteCount)) bytes corrupted",
            "\(Quantity.text(byteCount: lostByteCount)) lost in flight",
        ]
        if unreachableCount > 0 { parts.append("\(unreachableCount) times the target was unreachable") }
        return parts.joined(separator: ", ")
    }
}
