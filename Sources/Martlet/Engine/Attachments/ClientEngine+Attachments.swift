package import MartletLink

/// The transfers of attachments.
extension ClientEngine {
    /// Begins a transfer in a room. It goes on over connections and links until `TransferEvent.finished` or `failed`.
    ///
    /// - Throws: `noRoom`, `tooManyTransfers`.
    package mutating func transfer(
        _ kind: TransferKind, in room: RoomID, now: Instant
    ) throws(ClientError) -> TransferID {
        guard rooms[room] != nil else { throw .noRoom }
        guard let id = rooms.attachments.add(kind, in: room) else { throw .tooManyTransfers }
        return id
    }

    /// Reports the bytes for `TransferEvent.needs`.
    package mutating func provide(_ bytes: [UInt8], at position: UInt64, for id: TransferID, now: Instant) {
        rooms.attachments.provide(id, bytes, at: position, &rooms.requests, &port)
    }

    /// Reports that the bytes of a `TransferEvent.received` are written.
    package mutating func consumed(_ id: TransferID, now: Instant) { rooms.attachments.consumed(id, &port) }

    /// Ends a transfer. It fails with `cancelled`, and the relay keeps the bytes of an upload that it has stored.
    package mutating func cancel(_ id: TransferID, now: Instant) {
        rooms.attachments.end(id, .failed(.cancelled), &port)
    }
}
