import MartletLink
import MartletWire

/// A device's link at the relay, which outlives its connections, and the memberships of its sessions.
///
/// | state | owns | ends |
/// |---|---|---|
/// | connected | the slot of a connection, the state of its packet stream | `detach` |
/// | suspended | the instant of the suspension | `attach`, or the end of the link |
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
    static let baseByteCount = MemoryLayout<RelayLink>.stride + 384
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
    let id: LinkID
    let who: DeviceKey
    /// The claims of the last credential.
    var claims: Claims
    /// The index of the account in the engine's table.
    let account: Int32
    var link: Link
    private(set) var epoch = Epoch(rawValue: 1)
    private var token: TokenDigest
    /// The slot of the connection; nil while the link is suspended.
    @CompactOptional var connection: Int? = nil
    /// The state of the connection's packet stream between two reads; nil until the first packet.
    private var packetReader: PacketReader?
    @CompactOptional var suspendedAt: Instant? = nil
    /// The instant of the last bytes from the last connection that ended.
    private(set) var lastReceived = Instant.zero
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
    var isDirty = false
    /// The instant at which the timer fires; not later than the deadline.
    @CompactOptional var armedAt: Instant? = nil
    /// The bytes that the table counts for the link.
    private var chargedByteCount = 0

    init(
        key: LinkKey, id: LinkID, who: DeviceKey, claims: Claims, account: Int32, link: consuming Link,
        token: TokenDigest
    ) {
        self.key = key
        self.id = id
        self.who = who
        self.claims = claims
        self.account = account
        self.link = link
        self.token = token
    }

    /// The handles of all memberships in the order of their sessions.
    var handles: [MemberHandle] { sessions.values.compactMap(\.handle) }

    // MARK: Connections

    /// Whether a token of the device resumes the link (C-37).
    func accepts(_ presented: TokenDigest) -> Bool { token == presented }

    /// A resume begins an epoch, which invalidates the token of the last one.
    mutating func beginEpoch(_ renewed: TokenDigest) {
        epoch = Epoch(rawValue: epoch.rawValue &+ 1)
        token = renewed
    }

    mutating func attach(_ connection: Int, _ carrier: Carrier, deflatesPackets: Bool, now: Instant) {
        self.connection = connection
        packetReader = nil
        link.attach(carrier, isEarly: false, now: now)
        link.deflatesPackets = deflatesPackets
    }

    /// The connection no longer belongs to the link, because another connection resumes it (C-32).
    mutating func replaceConnection(lastReceived: Instant) {
        connection = nil
        self.lastReceived = lastReceived
    }

    /// Detaches a connection; false when it is not the link's.
    mutating func detach(_ connection: Int, lastReceived: Instant) -> Bool {
        guard self.connection == connection else { return false }
        self.connection = nil
        self.lastReceived = lastReceived
        packetReader = nil
        link.detach()
        releaseIdleMemory()
        return true
    }

    /// Prepares a framer for a read of the connection.
    mutating func serve(_ framer: inout Framer) {
        if link.readsPackets {
            framer.serve(packetReader, deflated: link.features.contains(.sharedDeflate))
        } else {
            framer.serve()
        }
    }

    /// Keeps the state of the packet stream until the next read.
    mutating func keepReader(of framer: borrowing Framer) {
        if framer.allowsPackets { packetReader = framer.reader }
    }

    /// Whether the peer's packets pass through a deflate stream now.
    var isInflating: Bool { packetReader?.isStreaming == true }

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
    mutating func removeSession(_ session: SessionID) -> Membership? {
        guard let membership = sessions.removeValue(forKey: session) else { return nil }
        if session == accountSession { accountSession = .control }
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

    /// The link's next deadline, the release of idle memory included.
    func deadline(now: Instant) -> Instant? {
        let deadline = link.deadline
        guard !link.hasUnacknowledged, hasIdleMemory else { return deadline }
        return deadline.orEarlier(RelayLink.releaseTime(after: now))
    }
    func hasOutput(now: Instant) -> Bool { link.hasOutput(now: now) }

    /// Bytes of messages beyond which rooms hold messages back.
    private var holdingLimit: Int {
        connection == nil ? RelayLink.suspendedHoldingByteCount : RelayLink.holdingByteCount
    }

    /// Counts the queues exactly.
    mutating func countQueued() {
        queued = link.queued(perFrame: RelayLink.entryByteCount)
    }

    /// The queues by the last count and later additions.
    var backlog: LinkBacklog { queued }

    /// Whether one more frame that is no message fits.
    private var hasRoom: Bool {
        queued.others < RelayLink.maxOthersByteCount || queued.byteCount < RelayLink.maxQueuedByteCount
    }

    /// Whether one more frame that is no message fits, by an exact count if the upper bound exceeds the limits.
    mutating func checkRoom() -> Bool {
        if !hasRoom { countQueued() }
        return hasRoom
    }

    /// Queues a frame of a room that is no message; false when the queues are full.
    mutating func send(_ type: FrameType, _ body: EncodedBody, on session: SessionID) -> Bool {
        guard checkRoom(), link.send(type, body, on: session) != .full else { return false }
        queued.others += body.byteCount + body.fragmentCount * RelayLink.entryByteCount
        return true
    }

    /// Queues a request or a response; false when too much is queued. An empty queue takes one of any length.
    mutating func sendRequest(_ type: FrameType, _ body: EncodedBody, on session: SessionID) -> Bool {
        // Other members' requests count with objects; responses were requested.
        let objects = body.fragmentCount * RelayLink.entryByteCount
        let cost = type == .request ? body.byteCount + objects : body.byteCount
        if !fitsRequest(cost) { countQueued() }
        guard fitsRequest(cost), link.send(type, body, on: session) != .full else { return false }
        queued.requests += cost
        if type != .request { queued.others += objects }
        return true
    }

    /// Queues a response on a session of kind attachment, whose requests are bounded apart; false when its
    /// queue is full.
    mutating func sendAttachment(_ body: EncodedBody, on session: SessionID) -> Bool {
        guard link.send(.response, body, on: session) != .full else { return false }
        queued.attachments += body.byteCount + body.fragmentCount * RelayLink.entryByteCount
        return true
    }

    private func fitsRequest(_ byteCount: Int) -> Bool {
        queued.requests == 0 || queued.requests + byteCount <= RelayLink.maxRequestByteCount
    }

    /// Queues messages of a room; false when the session's queue is full.
    mutating func send(_ messages: ArraySlice<LogEntry>, on session: SessionID, isBulk: Bool) -> Bool {
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
    mutating func takeCredit(of session: SessionID, acknowledged byteCount: Int) -> (MemberHandle, byteCount: Int)? {
        guard let index = sessions.index(of: session), let handle = sessions[at: index].handle else { return nil }
        if sessions[at: index].isAttachment { return (handle, byteCount) }
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
    mutating func updateWaiting(now: Instant) {
        link.asksForAck = hasBacklogged
        let waits = hasBacklogged && link.sharesCredit || waitingCount > 0
        if waits || link.waitsForCredit { link.setWaitsForCredit(waits, now: now) }
    }

    // MARK: Holding messages back

    /// Whether the rooms of a priority have to hold messages back. It is mutating as `deadline` is.
    mutating func isHolding(bulk: Bool) -> Bool {
        (bulk ? queued.bulk : queued.nonBulk) > holdingLimit || link.sharesCredit
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
    mutating func popBacklogged() -> MemberHandle? {
        if needsCount || link.sharesCredit { countQueued() }
        while let session = nextBacklogged() {
            guard let index = sessions.index(of: session), let handle = sessions[at: index].handle else { continue }
            sessions[at: index].isBacklogged = false
            return handle
        }
        return nil
    }

    private mutating func nextBacklogged() -> SessionID? {
        if queued.nonBulk <= holdingLimit / 2, let session = takeFirst(ofBulk: false) { return session }
        return queued.bulk <= holdingLimit / 2 ? takeFirst(ofBulk: true) : nil
    }

    /// Takes the first session that may use credit.
    private mutating func takeFirst(ofBulk isBulk: Bool) -> SessionID? {
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
    /// presence would displace some of them (S-52). The method is mutating as `deadline` is.
    mutating func hasRoomForPending() -> Bool {
        guard takesPending, let session = pending.first else { return false }
        return link.transientCount(on: session) <= PendingChanges.maxPresenceStepCount
    }

    /// The member whose pending changes are sent next, if the queues have room for them.
    mutating func popPending() -> MemberHandle? {
        if !takesPending { countQueued() }
        while hasRoomForPending(), let session = pending.popFirst() {
            if let handle = sessions[session]?.handle { return handle }
        }
        return nil
    }

    /// Whether the queue has room for updates of an account's rooms.
    mutating func takesUpdates() -> Bool {
        if !takesPending { countQueued() }
        return takesPending
    }

    private var takesPending: Bool {
        queued.others < (connection == nil ? RelayLink.suspendedHoldingByteCount : RelayLink.pendingByteCount)
    }

    // MARK: Memory

    /// Returns the change of the bytes that the link holds, with objects, since the last call.
    ///
    /// Credit that was not released counts for the frames that used it: those that precede an admission, incomplete
    /// ones, and those behind a gap.
    @inline(__always)
    mutating func takeChargeChange() -> Int {
        var byteCount = RelayLink.baseByteCount + link.storageByteCount + waitingByteCount
        byteCount += sessions.capacity * SortedMap<SessionID, Membership>.entryByteCount
        byteCount += link.recentlyEndedCount * RelayLink.recentlyEndedByteCount
        if let packetReader {
            byteCount += packetReader.storageByteCount
            if packetReader.isStreaming { byteCount += RelayLink.streamByteCount }
        }
        defer { chargedByteCount = byteCount }
        return byteCount - chargedByteCount
    }

    /// The bytes that the table counts for the link.
    var charge: Int { chargedByteCount }

    /// Bytes queued for the device, and received bytes that no room has taken, objects included.
    @inline(__always)
    var waitingByteCount: Int {
        queued.byteCount + queued.requests + queued.attachments + link.heldByteCount + heldByteCount
            + Int(truncatingIfNeeded: link.linkCreditReceived &- link.linkCreditReleased)
    }

    /// Whether the queues hold anything, by the last count.
    var hasQueued: Bool { queued.byteCount + queued.requests + queued.attachments > 0 }

    // MARK: Idle

    /// The duration for which an idle link keeps memory, so that infrequent messages do not allocate each time.
    private static let idleMemoryLifetime: Duration = .seconds(1)

    /// The instant at which a link that is idle now releases memory. It is the same for all links, so that one turn
    /// releases the memory of many.
    private static func releaseTime(after now: Instant) -> Instant {
        let step = UInt64(idleMemoryLifetime.nanoseconds)
        return Instant(nanoseconds: (now.nanoseconds / step + 2) * step)
    }

    /// Whether the link holds memory that only a busy link needs.
    var hasIdleMemory: Bool {
        link.hasIdleMemory || backloggedBulk.slotCount + backloggedOthers.slotCount + pending.slotCount > 0
    }

    /// Releases the memory that only a busy link needs, where it is empty.
    mutating func releaseIdleMemory() {
        link.releaseIdleMemory()
        backloggedBulk.releaseIfEmpty()
        backloggedOthers.releaseIfEmpty()
        pending.releaseIfEmpty()
    }

    // MARK: Quiescence

    /// Checks that the link is connected and idle.
    func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("device \(who.device)")
        check.add(link.quiescence())
        check.empty("connections", count: connection == nil ? 1 : 0)
        check.equal("sessions", link.sessionCount, sessions.values.count)
        check.equal("bytes held before a room is loaded", heldByteCount, 0)
        check.equal("backlogged sessions", hasBacklogged, false)
        check.equal("memory that an idle link does not need", hasIdleMemory, false)
        for (session, membership) in zip(sessions.keys, sessions.values) where session != accountSession {
            check.empty("sessions that wait for their room", count: membership.handle == nil ? 1 : 0)
            check.equal("memory for frames before a room is loaded", membership.hasHeldMemory, false)
            check.equal("flags", membership.isSuspended || membership.isBacklogged, false)
        }
        return check
    }
}
