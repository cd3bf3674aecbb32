import MartletWire

/// The sessions that ended recently. Their late frames are distinguished from faults, their last acknowledgement is
/// repeated, and their credit is settled (W-59, S-13).
package struct RecentlyEndedSessions: Sendable {
    /// The maximum number of kept sessions, as many as one resume can name.
    static let maxCount = 256

    /// The record of a session.
    struct Record: Equatable, Sendable {
        /// The highest sequence that had been received with everything before it.
        let cumulative: UInt64
        /// Credit that the peer is known to have used.
        var creditReceived: UInt64 = 0
        /// Credit that the application holds and will release.
        var unreleased: UInt64 = 0
        /// Whether `creditReceived` contains all credit that the peer has used.
        var isSettled = false
        /// Whether the acknowledgement is to be sent.
        var owesAck = false
        /// The sequence, as the header carries it, that the next late frame on this connection exceeds (S-14).
        fileprivate var late: UInt32

        init(
            cumulative: UInt64, creditReceived: UInt64 = 0, unreleased: UInt64 = 0, isSettled: Bool = false,
            owesAck: Bool = false
        ) {
            self.cumulative = cumulative
            self.creditReceived = creditReceived
            self.unreleased = unreleased
            self.isSettled = isSettled
            self.owesAck = owesAck
            late = UInt32(truncatingIfNeeded: cumulative)
        }
    }

    private var records: [SessionID: Record] = [:]
    private var order = Deque<SessionID>()
    /// Sessions whose last acknowledgement is to be sent, in order.
    private(set) var owed = Deque<SessionID>()

    package var count: Int { order.count }

    subscript(session: SessionID) -> Record? { records[session] }

    /// Adds a session. Returns the unreleased credit of the session that is removed for it, which the application can
    /// no longer release (S-13).
    mutating func insert(_ session: SessionID, _ record: Record) -> UInt64 {
        if records.updateValue(record, forKey: session) == nil { order.append(session) }
        if record.owesAck { owed.append(session) }
        guard order.count > RecentlyEndedSessions.maxCount, let oldest = order.popFirst() else { return 0 }
        return records.removeValue(forKey: oldest)?.unreleased ?? 0
    }

    /// A late frame arrived: the peer has not received the last acknowledgement (S-14).
    mutating func oweAck(_ session: SessionID) {
        guard records[session]?.owesAck == false else { return }
        records[session]?.owesAck = true
        owed.append(session)
    }

    /// Notes a late frame; false when it or a later one had arrived before, or when it cannot have been in flight.
    mutating func noteLate(_ sequence: UInt32, of session: SessionID) -> Bool {
        guard let record = records[session] else { return false }
        let end = UInt32(truncatingIfNeeded: record.cumulative &+ ReceiveStream.windowFrameCount)
        guard Int32(bitPattern: sequence &- record.late) > 0, Int32(bitPattern: sequence &- end) <= 0 else {
            return false
        }
        records[session]?.late = sequence
        return true
    }

    /// The connection has ended. The peer may send each frame of its window once more on the next one, received frames
    /// included, before it receives the repeated acknowledgement or reset (S-14).
    mutating func connectionEnded() {
        for (id, record) in records {
            records[id]?.late = UInt32(truncatingIfNeeded: record.cumulative &- ReceiveStream.windowFrameCount)
        }
    }

    /// Removes the next session whose acknowledgement is owed, and returns that acknowledgement.
    mutating func popOwed() -> SessionAck? {
        while let session = owed.popFirst() {
            guard let record = records[session], record.owesAck else { continue }
            records[session]?.owesAck = false
            return SessionAck(session: session, cumulative: record.cumulative, creditLimit: record.creditReceived)
        }
        return nil
    }

    /// Releases credit that the application held; returns the released part of `byteCount`.
    mutating func release(_ byteCount: UInt64, of session: SessionID) -> UInt64 {
        guard let record = records[session] else { return 0 }
        let released = min(byteCount, record.unreleased)
        records[session]?.unreleased -= released
        return released
    }

    /// Settles the credit that the peer used on a session. Returns the part that had not arrived; nil when the sum is
    /// below the received credit (S-11).
    mutating func settle(_ session: SessionID, creditUsed: UInt64) -> UInt64? {
        guard let record = records[session], !record.isSettled else { return 0 }
        guard creditUsed >= record.creditReceived else { return nil }
        records[session]?.isSettled = true
        records[session]?.creditReceived = creditUsed
        return creditUsed - record.creditReceived
    }
}
