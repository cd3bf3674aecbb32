import MartletWire

/// The sessions that were closed or reset lately, so that late frames of theirs are told from errors, their last
/// acknowledgement is repeated, and their credit is settled (W-59, S-13).
struct RetiredSessions: Sendable {
    /// Sessions remembered: as many as one resume can name.
    static let maxCount = 256

    /// What is left of a session.
    struct Record: Equatable, Sendable {
        /// The highest sequence that had been received with everything before it.
        var cumulative: UInt64
        /// Credit that the peer had used, as far as it is known here.
        var creditReceived: UInt64 = 0
        /// Credit of what the application holds and will give back.
        var unreleased: UInt64 = 0
        /// Whether `creditReceived` is all that the peer has used.
        var isSettled = false
        /// Whether the acknowledgement is to be sent.
        var owesAck = false
        /// The highest late sequence that came since it ended, as the header carries it (S-14).
        var late: UInt32?
    }

    private var records: [SessionID: Record] = [:]
    private var order = Deque<SessionID>()
    /// Sessions whose last acknowledgement is to be sent, in order.
    private(set) var owed = Deque<SessionID>()

    var count: Int { order.count }

    subscript(session: SessionID) -> Record? { records[session] }

    /// Remembers a session; returns the credit of the one that is forgotten for it, which nobody can give back now
    /// (S-13).
    mutating func insert(_ session: SessionID, _ record: Record) -> UInt64 {
        if records.updateValue(record, forKey: session) == nil { order.append(session) }
        if record.owesAck { owed.append(session) }
        guard order.count > RetiredSessions.maxCount, let oldest = order.popFirst() else { return 0 }
        return records.removeValue(forKey: oldest)?.unreleased ?? 0
    }

    /// A late frame came: the peer has not heard the last acknowledgement (S-14).
    mutating func oweAck(_ session: SessionID) {
        guard records[session]?.owesAck == false else { return }
        records[session]?.owesAck = true
        owed.append(session)
    }

    /// A late frame came; false when it, or a later one, had come before, or it is none that may have been under way.
    mutating func noteLate(_ sequence: UInt32, of session: SessionID) -> Bool {
        guard let record = records[session] else { return false }
        let last = record.late ?? UInt32(truncatingIfNeeded: record.cumulative)
        let end = UInt32(truncatingIfNeeded: record.cumulative &+ ReceiveStream.windowFrameCount)
        guard Int32(bitPattern: sequence &- last) > 0, Int32(bitPattern: sequence &- end) <= 0 else { return false }
        records[session]?.late = sequence
        return true
    }

    /// Takes the next session whose acknowledgement is owed.
    mutating func popOwed() -> SessionAck? {
        while let session = owed.popFirst() {
            guard let record = records[session], record.owesAck else { continue }
            records[session]?.owesAck = false
            return SessionAck(session: session, cumulative: record.cumulative, creditLimit: record.creditReceived)
        }
        return nil
    }

    /// Gives credit back that the application held; returns how much of it was its to give.
    mutating func release(_ byteCount: UInt64, of session: SessionID) -> UInt64 {
        guard let record = records[session] else { return 0 }
        let released = min(byteCount, record.unreleased)
        records[session]?.unreleased -= released
        return released
    }

    /// The peer says how much credit it used on a session; returns what of it had not arrived here, nil when that
    /// contradicts what has (S-11).
    mutating func settle(_ session: SessionID, creditUsed: UInt64) -> UInt64? {
        guard let record = records[session], !record.isSettled else { return 0 }
        guard creditUsed >= record.creditReceived else { return nil }
        records[session]?.isSettled = true
        records[session]?.creditReceived = creditUsed
        return creditUsed - record.creditReceived
    }
}
