import MartletWire

/// The side of a link. It determines which side opens sessions with odd and with even IDs.
package enum LinkRole: UInt8, Sendable {
    /// Opens sessions with odd IDs.
    case client
    /// Opens sessions with even IDs.
    case relay
}

/// The sessions of a link by slot and by ID, and the recently ended sessions.
///
/// Slot 0 is the control session. The slot of a session that has ended is free until a new session takes it.
struct SessionTable: ~Copyable, Sendable {
    typealias Slots = SortedMap<SessionID, Int>

    let role: LinkRole
    /// The sequence of each session's first frame.
    let firstSequence: UInt64
    private var sessions = SlotTable<Session>()
    private var slotOfID = Slots()
    private var nextID: UInt16
    /// Slots of sessions that have frames for the application, in the order in which these became available.
    private var readySlots = Deque<Int>()
    /// Sessions with frames that were sent and are unacknowledged.
    private var outstandingCount = 0
    /// Sessions with memory for frames.
    private(set) var queueCount = 0
    /// The number of received acknowledgements, to detect one that names a session twice.
    private var ackCount: UInt64 = 0
    var recentlyEnded = RecentlyEndedSessions()

    init(role: LinkRole, firstSequence: UInt64, maxMessageByteCount: Int) {
        self.role = role
        self.firstSequence = firstSequence
        nextID = role == .client ? 1 : 2
        let control = Session(
            id: .control, kind: .signaling, local: .open, windowByteCount: Link.controlWindowByteCount,
            maxMessageByteCount: maxMessageByteCount, first: firstSequence)
        _ = insert(control)
    }

    /// Sessions without the control session.
    var sessionCount: Int { sessions.count - 1 }
    /// The slots that have ever been in use. `isLive` is false for a free one.
    @inline(__always)
    var slots: Range<Int> { sessions.slots }
    @inline(__always)
    var hasUnacknowledged: Bool { outstandingCount > 0 }

    /// The slots of the sessions, as an array: a loop that changes sessions tests `slots` instead.
    var liveSlots: [Int] { slots.filter { isLive($0) } }
    @inline(__always)
    func isLive(_ slot: Int) -> Bool { sessions.isLive(slot) }

    /// Accesses the session in a slot in place.
    ///
    /// - Precondition: The slot is live.
    subscript(slot: Int) -> Session {
        @inline(__always) unsafeAddress { unsafe sessions.address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe sessions.mutableAddress(slot) }
    }

    @inline(__always)
    func slot(of id: SessionID) -> Int? { slotOfID[id] }

    // MARK: Parts of a session, without a copy of the whole

    /// Whether both sides are closed and the local `close` is acknowledged (S-7).
    @inline(__always)
    func isFinished(_ slot: Int) -> Bool {
        self[slot].local == .closing && self[slot].peer == .closed && self[slot].send.isEmpty
    }

    /// Whether a session has frames to send, with or without credit for them.
    @inline(__always)
    func hasUnsent(_ slot: Int) -> Bool { self[slot].send.hasUnsent || !self[slot].transients.isEmpty }

    /// The window in which the messages of a session are sent, in bytes.
    func windowByteCount(of slot: Int, _ limits: Limits) -> Int {
        slot == 0 ? Link.controlWindowByteCount : SessionPreset(self[slot].kind).windowByteCount(limits)
    }

    func isOurs(_ id: SessionID) -> Bool {  // W-54
        (id.rawValue % 2 == 1) == (role == .client)
    }

    // MARK: Begin and end

    /// The ID of the next session that this side opens; one in use or recently ended is skipped (S-2).
    mutating func takeID() -> SessionID {
        var id = SessionID(rawValue: nextID)
        while slotOfID[id] != nil || recentlyEnded[id] != nil { id = SessionID(rawValue: following(id.rawValue)) }
        nextID = following(id.rawValue)
        return id
    }

    private func following(_ id: UInt16) -> UInt16 {
        let next = id &+ 2
        return next == 0 ? 2 : next
    }

    mutating func insert(_ session: consuming Session) -> Int {
        let id = session.id
        let slot = sessions.insert(session)
        slotOfID[id] = slot
        return slot
    }

    /// Ends a session and frees its slot.
    ///
    /// - Parameters:
    ///   - isReset: whether the peer may have used credit for frames that have not arrived.
    ///   - isKnown: whether the peer may know the session.
    /// - Returns: credit of the oldest recently ended session, which this one replaces there.
    mutating func remove(_ slot: Int, isReset: Bool, isKnown: Bool) -> UInt64 {
        let session = sessions.remove(slot)
        slotOfID.removeValue(forKey: session.id)
        if session.isOutstanding { outstandingCount -= 1 }
        if session.send.hasQueue { queueCount -= 1 }
        guard isKnown else { return 0 }
        let record = RecentlyEndedSessions.Record(
            cumulative: session.receive.cumulative, creditReceived: session.receive.creditReceived,
            unreleased: session.receive.creditDelivered - session.receive.creditReleased, isSettled: !isReset,
            owesAck: session.marks.needsAck)
        return recentlyEnded.insert(session.id, record)
    }

    // MARK: Frames for the application

    mutating func markReady(_ slot: Int) {
        readySlots.append(slot)
    }

    var hasReady: Bool { !readySlots.isEmpty }

    /// The next frame that was held behind a gap or a fragment.
    mutating func popReady() -> (slot: Int, frame: OrderedFrame)? {
        while let slot = readySlots.first {
            if sessions.isLive(slot), let frame = sessions[slot].receive.popReady() { return (slot, frame) }
            _ = readySlots.popFirst()
        }
        return nil
    }

    // MARK: Frames of this side

    /// A session is about to queue a frame.
    @inline(__always)
    mutating func noteQueue(_ slot: Int) {
        if !sessions[slot].send.hasQueue { queueCount += 1 }
    }

    /// Updates the count of sessions with unacknowledged frames after a stream has changed; returns whether the count
    /// has changed.
    mutating func noteOutstanding(_ slot: Int) -> Bool {
        let isOutstanding = sessions[slot].send.hasUnacknowledged
        guard sessions[slot].isOutstanding != isOutstanding else { return false }
        sessions[slot].isOutstanding = isOutstanding
        outstandingCount += isOutstanding ? 1 : -1
        return true
    }

    mutating func beginAck() {
        ackCount += 1
    }

    /// Notes that the acknowledgement names a session; throws when it does so twice (S-21).
    mutating func noteAck(of slot: Int) throws(LinkError) {
        guard sessions[slot].lastAck != ackCount else { throw .peer(.protocolViolation) }
        sessions[slot].lastAck = ackCount
    }

    // MARK: Idle

    var hasIdleMemory: Bool {
        readySlots.slotCount > 0 || queueCount > 0
            || slots.contains { sessions.isLive($0) && sessions[$0].hasIdleMemory }
    }

    mutating func releaseIdleMemory() {
        readySlots.releaseIfEmpty()
        var count = 0
        for slot in slots where sessions.isLive(slot) {
            sessions[slot].releaseIdleMemory()
            if sessions[slot].send.hasQueue { count += 1 }
        }
        queueCount = count
    }

    /// Bytes of the sessions and of their queues without bodies.
    @inline(__always)
    var storageByteCount: Int {
        sessions.capacity * MemoryLayout<Session>.stride + slotOfID.capacity * Slots.entryByteCount
            + queueCount * SendStream.queueByteCount
    }
}

extension SessionTable {
    /// Adds the counts that do not balance although nothing is queued, held or outstanding.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("sessions counted as unacknowledged", outstandingCount, 0)
        check.equal("sessions with memory for frames", queueCount, liveSlots.count { self[$0].send.hasQueue })
        check.equal("slots", sessions.count, slotOfID.count)
        check.empty("sessions with frames that were not taken", count: readySlots.count)
    }
}
