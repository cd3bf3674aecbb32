import MartletToolSupport

/// What a weak link did.
struct WeakLinkReport: Equatable, Sendable {
    /// Connections that were accepted.
    var connectionCount = 0
    /// Connections whose target could not be reached.
    var unreachableCount = 0
    /// Bytes that arrived on the way from who connected to who accepted.
    var upByteCount = 0
    /// Bytes that arrived on the way back.
    var downByteCount = 0
    /// Connections that were cut.
    var cutCount = 0
    /// Bytes that never arrived since their connection ended first.
    var lostByteCount = 0
    /// Bytes with a flipped bit.
    var corruptedByteCount = 0
    /// The most that one direction of one connection held at once.
    var maxHeldByteCount = 0

    /// The report for a machine.
    var json: JSONLine {
        .object([
            .init("event", .string("weaknet")), .init("connections", .count(connectionCount)),
            .init("unreachable", .count(unreachableCount)), .init("cuts", .count(cutCount)),
            .init("corrupted", .count(corruptedByteCount)), .init("bytesUp", .count(upByteCount)),
            .init("bytesDown", .count(downByteCount)), .init("bytesLost", .count(lostByteCount)),
            .init("maxHeld", .count(maxHeldByteCount)),
        ])
    }

    /// The report for a person.
    var text: String {
        var parts = [
            "\(Quantity.grouped(connectionCount)) \(connectionCount == 1 ? "connection" : "connections")",
            "\(Quantity.text(byteCount: upByteCount)) up", "\(Quantity.text(byteCount: downByteCount)) down",
            "\(Quantity.grouped(cutCount)) cut", "\(Quantity.grouped(corruptedByteCount)) bytes corrupted",
            "\(Quantity.text(byteCount: lostByteCount)) lost on the way",
        ]
        if unreachableCount > 0 { parts.append("\(unreachableCount) times the target was not there") }
        return parts.joined(separator: ", ")
    }
}
