import MartletLink
import MartletWire

/// The relay's state of a link: the memberships of its sessions, and the bytes that rooms have queued on it.
struct RelayLink: ~Copyable, Sendable {
    /// The maximum number of bytes that all sessions of a link may send before their rooms are loaded, beside frames
    /// with credit. Each frame counts with the cost of holding it.
    static let maxHeldByteCount = 64 * 1024
    /// Bytes of messages in flight to a device, objects counted, beyond which its rooms hold messages back. Bulk is
    /// counted separately, so that no other message waits behind a file.
    static let holdingByteCount = 320 * 1024  // bound
    /// Bytes of all queues, and of all but messages, beyond both of which a session that sends more is reset (R-45,
    /// Specs/hostile.md row 20).
    static let maxQueuedByteCount = 960 * 1024
    static let maxOthersByteCount = 192 * 1024
    /// Bytes of frames other than messages, beyond which rooms keep receipts and cancels pending; less than the bound
    /// for which a session is reset.
    static let pendingByteCount = 96 * 1024  // bound
    /// Bytes of requests and responses queued for a device, requests with objects, beyond which no further one is
    /// queued. If none is queued, one of any length is.
    static let maxRequestByteCount = 192 * 1024
    /// Bytes of a queued frame beside its body: its entry in the queue and the body's objects.
    static let entryByteCount = 192
    /// `holdingByteCount` for a device without a connection, which reads the rest from the log after a resume.
    static let suspendedHoldingByteCount = 16 * 1024  // bound
    /// Bytes of a link with its entries in the tables, and of a session that ended recently.
    static let baseByteCount = MemoryLayout<RelayLink>.stride + MemoryLayout<ServerLink>.stride + 384
    static let recentlyEndedByteCount = 96
    /// The number of sessions of an account beyond which its links end when memory is short.
    static let exemptSessionCount = 4
    /// Bytes of a session at the link.
    static let sessionByteCount =
        Link.sessionByteCount + SortedMap<SessionID, Membership>.entryByteCount
    /// Bytes of the deflate stream that a device sends (W-94).
    static let streamByteCount = 44 * 1024
    /// The minimum number of bytes of a session that is reset when memory is short.
    static let minResetByteCount = 4096
    /// The maximum number of transient frames of a link in a minute, beyond which they are dropped.
    static let transientsPerMinute = 600
    /// The maximum number of cancels for requests of a client, before they count as frames without progress.
    static let maxCancelsDue = 1024

    let key: LinkKey
    /// The index of the account in the engine's table.
    let account: Int32
    /// The claims of the last credential.
    var claims: Claims
    var sessions = SortedMap<SessionID, Membership>()
    /// The session of the account; session 0 if there is none.
    var accountSession = SessionID.control
    private var transients = TokenBucket(burst: 100, perMinute: RelayLink.transientsPerMinute)
    /// Requests that the peer has sent and not cancelled, up to a maximum.
    private var cancelsDue = 0
    /// Bytes that all sessions hold without credit.
    private(set) var heldByteCount = 0
    /// The bytes of the queues with objects; an upper bound until they are counted again.
    private var queued = LinkBacklog()
    /// Sessions whose rooms hold messages back, the longest held first, for bulk and for other sessions.
    private var backloggedBulk = Deque<SessionID>()
    private var backloggedOthers = Deque<SessionID>()
    /// Sessions whose rooms have pending changes for them, once each, the longest waiting first.
    private var pending = Deque<SessionID>()
    /// The number of sessions whose rooms wait for credit.
    private var waitingCount = 0
    /// The bytes that the table counts for the link.
    private var chargedByteCount = 0

    init(key: LinkKey, account: Int32, claims: Claims) {
        self.key = key
        self.account = account
        self.claims = claims
    }

    /// The handles of all memberships in the order of their sessions.
    var handles: [MemberHandle] { sessions.values.compactMap(\.handle) }

    // MARK: Rates

    /// A transient frame was received; false when the rate is exceeded.
    mutating func takeTransient(now: Instant) -> Bool { transients.take(now: now) }

    /// A request was received, which the peer may cancel.
    mutating func noteRequest() { cancelsDue = min(cancelsDue + 1, RelayLink.maxCancelsDue) }

    /// A cancel was received; false when there are more cancels than requests.
    mutating func takeCancel() -> Bool {
        guard cancelsDue > 0 else { return false }
        cancelsDue -= 1
        return true
    }

    // MARK: Sessions

    /// Removes a session. The frames that it holds are discarded and their credit is released.
    mutating func removeSession(_ session: SessionID, _ link: inout Link) -> Membership? {
        guard let membership = sessions.removeValue(forKey: session) else { return nil }
        if membership.owner == .account { accountSession = .control }
        if membership.waitsForCredit { waitingCount -= 1 }
        link.release(membership.held.creditByteCount, on: session)
        heldByteCount -= membership.held.uncreditedCost
        return membership
    }

    /// Holds a frame of a session that its room has not admitted, or that waits for a decision; false at a bound.
    mutating func hold(_ type: FrameType, _ body: RawSpan, credit: Int, on session: SessionID) -> Bool {
        guard let index = sessions.index(of: session) else { return false }
        let before = sessions[at: index].held.uncreditedCost
        guard sessions[at: index].hold(type, body, credit: credit) else { return false }
        heldByteCount += sessions[at: index].held.uncreditedCost - before
        return heldByteCount <= RelayLink.maxHeldByteCount
    }

    /// The peer closes a session. Returns true when frames are held: the close takes effect behind them (S-8).
    mutating func defersClose(of session: SessionID) -> Bool {
        guard let index = sessions.index(of: session), !sessions[at: index].held.isEmpty else { return false }
        sessions[at: index].isClosing = true
        return true
    }

    /// Takes the held frames of a session.
    mutating func takeHeld(of session: SessionID) -> HeldFrames {
        guard let index = sessions.index(of: session) else { return HeldFrames() }
        let held = sessions[at: index].takeHeld()
        heldByteCount -= held.uncreditedCost
        return held
    }

    // MARK: Queues

    /// Bytes of messages beyond which rooms hold messages back.
    private func holdingLimit(_ link: borrowing Link) -> Int {
        link.isAttached ? RelayLink.holdingByteCount : RelayLink.suspendedHoldingByteCount
    }

    /// Counts the queues exactly.
    mutating func countQueued(_ link: borrowing Link) {
        queued = link.queued(perFrame: RelayLink.entryByteCount)
    }

    /// The queues by the last count and later additions.
    var backlog: LinkBacklog { queued }

    /// Whether one more frame that is no message fits.
    private var hasRoom: Bool {
        queued.others < RelayLink.maxOthersByteCount || queued.byteCount < RelayLink.maxQueuedByteCount
    }

    /// Whether one more frame that is no message fits, by an exact count if the upper bound exceeds the limits.
    mutating func checkRoom(_ link: borrowing Link) -> Bool {
        if !hasRoom { countQueued(link) }
        return hasRoom
    }

    /// Queues a frame of a room that is no message; false when the queues are full.
    mutating func send(
        _ type: FrameType, _ body: EncodedBody, on session: SessionID, _ link: inout Link
    ) -> Bool {
        guard checkRoom(link), link.send(type, body, on: session) != .full else { return false }
        queued.others += body.byteCount + body.fragmentCount * RelayLink.entryByteCount
        return true
    }

    /// Queues a request or a response; false when too much is queued. An empty queue takes one of any length.
    mutating func sendRequest(
        _ type: FrameType, _ body: EncodedBody, on session: SessionID, _ link: inout Link
    ) -> Bool {
        // Other members' requests count with objects; responses were requested.
        let objects = body.fragmentCount * RelayLink.entryByteCount
        let cost = type == .request ? body.byteCount + objects : body.byteCount
        if !fitsRequest(cost) { countQueued(link) }
        guard fitsRequest(cost), link.send(type, body, on: session) != .full else { return false }
        queued.requests += cost
        if type != .request { queued.others += objects }
        return true
    }

    /// Queues a response on a session of kind attachment, whose requests are bounded apart; false when its
    /// queue is full.
    mutating func sendAttachment(_ body: EncodedBody, on session: SessionID, _ link: inout Link) -> Bool {
        guard link.send(.response, body, on: session) != .full else { return false }
        queued.attachments += body.byteCount + body.fragmentCount * RelayLink.entryByteCount
        return true
    }

    private func fitsRequest(_ byteCount: Int) -> Bool {
        queued.requests == 0 || queued.requests + byteCount <= RelayLink.maxRequestByteCount
    }

    /// Queues messages of a room; false when the session's queue is full.
    mutating func send(
        _ messages: ArraySlice<LogEntry>, on session: SessionID, isBulk: Bool, _ link: inout Link
    ) -> Bool {
        guard link.send(messages, on: session) != .full else { return false }
        var byteCount = 0
        for index in messages.indices {
            byteCount += messages[index].body.byteCount
            byteCount += messages[index].body.fragmentCount * RelayLink.entryByteCount
        }
        if isBulk { queued.bulk += byteCount } else { queued.nonBulk += byteCount }
        return true
    }

    // MARK: Credit

    /// The member that receives more messages after an acknowledgement, and the bytes that it gains.
    mutating func takeCredit(
        of session: SessionID, acknowledged byteCount: Int, _ link: borrowing Link
    ) -> (MemberHandle, byteCount: Int)? {
        guard let index = sessions.index(of: session), let handle = sessions[at: index].handle else { return nil }
        if sessions[at: index].owner == .attachment { return (handle, byteCount) }
        let (limit, before) = (link.messageCreditLimit(of: session), sessions[at: index].creditLimit)
        guard limit > before else { return nil }
        sessions[at: index].creditLimit = limit
        return (handle, Int(UInt32(clamping: limit - before)))
    }

    mutating func setWaiting(_ waits: Bool, of session: SessionID) {
        guard let index = sessions.index(of: session), sessions[at: index].waitsForCredit != waits else { return }
        sessions[at: index].waitsForCredit = waits
        waitingCount += waits ? 1 : -1
    }

    /// Passes to the link whether rooms wait for credit: each for that of its session, or together for that of the
    /// link.
    mutating func updateWaiting(_ link: inout Link, now: Instant) {
        link.asksForAck = hasBacklogged
        let waits = hasBacklogged && link.sharesCredit || waitingCount > 0
        if waits || link.waitsForCredit { link.setWaitsForCredit(waits, now: now) }
    }

    // MARK: Holding messages back

    /// Whether the rooms of a priority have to hold messages back.
    func isHolding(bulk: Bool, _ link: borrowing Link) -> Bool {
        (bulk ? queued.bulk : queued.nonBulk) > holdingLimit(link) || link.sharesCredit
    }

    /// Whether the upper bound of the queues is so high that an exact count is worthwhile.
    @inline(__always)
    private var needsCount: Bool { queued.byteCount > RelayLink.holdingByteCount / 2 }

    /// Whether rooms hold messages back.
    @inline(__always)
    var hasBacklogged: Bool { !backloggedOthers.isEmpty || !backloggedBulk.isEmpty }

    mutating func noteBacklogged(_ session: SessionID) {
        guard let index = sessions.index(of: session) else { return }
        let isBulk = sessions[at: index].isBulk
        sessions[at: index].isBacklogged = true
        if isBulk { backloggedBulk.append(session) } else { backloggedOthers.append(session) }
    }

    /// Whether rooms hold messages back, or will unless the queues are counted.
    @inline(__always)
    var needsRelease: Bool { hasBacklogged || needsCount }

    /// The member that receives messages again, if the queue of its priority is short enough.
    mutating func popBacklogged(_ link: borrowing Link) -> MemberHandle? {
        if needsCount || link.sharesCredit { countQueued(link) }
        while let session = nextBacklogged(link) {
            guard let index = sessions.index(of: session), let handle = sessions[at: index].handle else { continue }
            sessions[at: index].isBacklogged = false
            return handle
        }
        return nil
    }

    private mutating func nextBacklogged(_ link: borrowing Link) -> SessionID? {
        let limit = holdingLimit(link) / 2
        if queued.nonBulk <= limit, let session = takeFirst(ofBulk: false, link) { return session }
        return queued.bulk <= limit ? takeFirst(ofBulk: true, link) : nil
    }

    /// Takes the first session that may use credit.
    private mutating func takeFirst(ofBulk isBulk: Bool, _ link: borrowing Link) -> SessionID? {
        for _ in 0..<(isBulk ? backloggedBulk.count : backloggedOthers.count) {
            guard let session = isBulk ? backloggedBulk.popFirst() : backloggedOthers.popFirst() else { break }
            if link.mayUseCredit(session, queued: queued.bulk + queued.nonBulk) { return session }
            if isBulk { backloggedBulk.append(session) } else { backloggedOthers.append(session) }
        }
        return nil
    }

    // MARK: Pending receipts, cancels and presence

    /// A room has receipts, cancels or presence for a session. A resume may report it again.
    mutating func notePending(_ session: SessionID) {
        if !pending.contains(session) { pending.append(session) }
    }

    @inline(__always)
    var hasPending: Bool { !pending.isEmpty }

    /// Whether the queues have room for the next pending changes. With more transient frames in its session's queue,
    /// presence would displace some of them (S-52).
    func hasRoomForPending(_ link: borrowing Link) -> Bool {
        guard takesPending(link), let session = pending.first else { return false }
        return link.transientCount(on: session) <= PendingChanges.maxPresenceStepCount
    }

    /// The member whose pending changes are sent next, if the queues have room for them.
    mutating func popPending(_ link: borrowing Link) -> MemberHandle? {
        if !takesPending(link) { countQueued(link) }
        while hasRoomForPending(link), let session = pending.popFirst() {
            if let handle = sessions[session]?.handle { return handle }
        }
        return nil
    }

    /// Whether the queue has room for updates of an account's rooms.
    mutating func takesUpdates(_ link: borrowing Link) -> Bool {
        if !takesPending(link) { countQueued(link) }
        return takesPending(link)
    }

    private func takesPending(_ link: borrowing Link) -> Bool {
        queued.others < (link.isAttached ? RelayLink.pendingByteCount : RelayLink.suspendedHoldingByteCount)
    }

    // MARK: Memory

    /// Returns the change of the bytes that the link holds, with objects, since the last call.
    ///
    /// Credit that was not released counts for the frames that used it: those that precede an admission, incomplete
    /// ones, and those behind a gap.
    @inline(__always)
    mutating func takeChargeChange(_ server: borrowing ServerLink) -> Int {
        var byteCount = RelayLink.baseByteCount + server.link.storageByteCount + waitingByteCount(server.link)
        byteCount += sessions.capacity * SortedMap<SessionID, Membership>.entryByteCount
        byteCount += server.link.recentlyEndedCount * RelayLink.recentlyEndedByteCount
        byteCount += server.packetReaderByteCount(ofStream: RelayLink.streamByteCount)
        defer { chargedByteCount = byteCount }
        return byteCount - chargedByteCount
    }

    /// The bytes that the table counts for the link.
    var charge: Int { chargedByteCount }

    /// Bytes queued for the device, and received bytes that no room has taken, objects included.
    @inline(__always)
    func waitingByteCount(_ link: borrowing Link) -> Int {
        queued.byteCount + queued.requests + queued.attachments + link.heldByteCount + heldByteCount
            + Int(truncatingIfNeeded: link.linkCreditReceived &- link.linkCreditReleased)
    }

    /// Whether the queues hold anything, by the last count.
    var hasQueued: Bool { queued.byteCount + queued.requests + queued.attachments > 0 }

    // MARK: Idle

    /// Whether the link holds memory that only a busy link needs.
    var hasIdleMemory: Bool {
        backloggedBulk.slotCount + backloggedOthers.slotCount + pending.slotCount > 0
    }

    /// Releases the memory that only a busy link needs, where it is empty.
    mutating func releaseIdleMemory() {
        backloggedBulk.releaseIfEmpty()
        backloggedOthers.releaseIfEmpty()
        pending.releaseIfEmpty()
    }

    // MARK: Quiescence

    /// Checks that the link is connected and idle.
    func quiescence(_ server: borrowing ServerLink) -> QuiescenceCheck {
        var check = QuiescenceCheck("device \(server.who.device)")
        check.add(server.link.quiescence())
        check.empty("connections", count: server.connection == nil ? 1 : 0)
        check.equal("sessions", server.link.sessionCount, sessions.values.count)
        check.equal("bytes held before a room is loaded", heldByteCount, 0)
        check.equal("backlogged sessions", hasBacklogged, false)
        check.equal("memory that an idle link does not need", hasIdleMemory || server.link.hasIdleMemory, false)
        for membership in sessions.values where membership.owner != .account {
            check.empty("sessions that wait for their room", count: membership.handle == nil ? 1 : 0)
            check.equal("memory for frames before a room is loaded", membership.hasHeldMemory, false)
            check.equal("flags", membership.isSuspended || membership.isBacklogged, false)
        }
        return check
    }
}
