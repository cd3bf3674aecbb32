import MartletWire

/// A device's link at the relay: what outlives its connections, and where its sessions are members.
struct RelayLink: Sendable {
    /// Bytes that all sessions of a link may send before their rooms have been loaded, beside what has credit; each
    /// frame counts with what holding it costs.
    static let maxHeldByteCount = 64 * 1024
    /// Bytes of messages that wait for a device or its acknowledgement, objects counted, beyond which its rooms hold
    /// messages back. Bulk is counted apart from talk, so that no line waits behind a file.
    static let holdingByteCount = 320 * 1024
    /// Bytes of all that waits, and of what of it is no message, beyond both of which a session that has more to say is
    /// reset (R-45, Specs/hostile.md row 20).
    static let maxQueuedByteCount = 960 * 1024
    static let maxOthersByteCount = 192 * 1024
    /// Bytes of what is no message, beyond which rooms keep what they have to tell; less than a session is reset for
    ///
    static let newsByteCount = 96 * 1024
    /// Bytes of requests and responses that wait for a device, requests with objects, beyond which none is passed on to
    /// it while others wait.
    static let maxRequestByteCount = 192 * 1024
    /// What a frame that waits costs beside its bytes: its place in the queue and its body's objects.
    static let entryByteCount = 192
    /// The same as `holdingByteCount` while the device has no connection: what it misses is read from the log when it
    /// is back.
    static let suspendedHoldingByteCount = 16 * 1024
    /// What a link takes with its places in the tables and its account's, and what a session that ended lately does.
    static let baseByteCount = MemoryLayout<RelayLink>.stride + 384
    static let retiredByteCount = 96
    /// Sessions of an account beyond which links of it end when memory is short.
    static let fewSessions = 4
    /// What a session takes at the link, in bytes.
    static let sessionByteCount =
        MemoryLayout<Session>.stride + Link.Slots.entryByteCount + SortedMap<SessionID, Membership>.entryByteCount
    /// What the deflate stream of a device takes that sends one (W-94).
    static let streamByteCount = 44 * 1024
    /// What a session has to hold at least to be reset for it when memory is short.
    static let leastResetByteCount = 4096
    /// Transient frames that a link may send a minute before further ones are dropped.
    static let transientsPerMinute = 600
    /// Cancels that a client may send for requests that it has sent, before they count as frames without progress.
    static let maxCancelsDue = 1024

    var key: LinkKey
    var id: LinkID
    var who: DeviceKey
    /// Its account's place in the engine's table.
    var account: Int32
    var link: Link
    var epoch = Epoch(rawValue: 1)
    var token: TokenDigest
    @Compact var connection: Int? = nil
    /// Reads the packets of the connection, together with the framer that serves it; nil until there was one.
    var packetReader: PacketReader?
    @Compact var suspendedAt: Instant? = nil
    var sessions = SortedMap<SessionID, Membership>()
    var transients = TokenBucket(burst: 100, perMinute: RelayLink.transientsPerMinute)
    /// Requests that it has sent and not cancelled, as far as they are counted.
    var cancelsDue = 0
    /// What all sessions hold without credit, in bytes.
    var heldByteCount = 0
    /// What waits, objects counted; made exact when it matters.
    var queued = LinkBacklog()
    /// Sessions whose rooms hold messages back, those that have waited for longest first: bulk, and talk.
    var heldBackBulk = Deque<SessionID>()
    var heldBackTalk = Deque<SessionID>()
    /// Sessions that rooms have something to tell, those that have waited for longest first.
    var news = Deque<SessionID>()
    var isTouched = false
    /// What the engine's timer is set to, at the latest.
    @Compact var armedAt: Instant? = nil
    /// What the engine's ledger was told last that it holds.
    var chargedByteCount = 0

    /// A session's place in its room.
    struct Membership: Sendable {
        /// Where it waits to be let in; from then on its handle says it, unless the room lives on another loop.
        var room: RoomName?
        /// Whether its messages may take their time.
        var isBulk: Bool
        /// Nil until the room has let the session in.
        var handle: MemberHandle?
        /// Whether the session asked to hold messages back.
        var isSuspended = false
        /// The cursor of a `resume` that came before the room let the session in.
        @Compact var wantedCursor: UInt64? = nil
        /// Whether its room holds messages back, because enough is on the link's way.
        var isHeldBack = false
        var receipts = ReceiptAllowance()
        /// Whether its close came behind frames that are held for the room (S-8).
        var isClosing = false
        /// What came before that.
        var heldFrames = OnDemand<HeldFrames>()

        var held: HeldFrames { heldFrames.value }
        /// What came before that, in bytes with objects.
        var heldByteCount: Int { held.storageByteCount }
    }

    /// Keeps a frame of a session whose room is not loaded; false when that would be beyond the bounds.
    mutating func hold(_ type: FrameType, _ body: RawSpan, credit: Int, on session: SessionID) -> Bool {
        guard let place = sessions.index(of: session) else { return false }
        let before = sessions[at: place].held.uncreditedCost
        guard sessions[at: place].heldFrames.value.append(type, body, credit: credit) else { return false }
        heldByteCount += sessions[at: place].held.uncreditedCost - before
        return heldByteCount <= RelayLink.maxHeldByteCount
    }

    /// The peer closes a session. True when its room has not let it in and frames that came before are held: the
    /// close takes effect behind them (S-8).
    mutating func defersClose(of session: SessionID) -> Bool {
        guard let place = sessions.index(of: session), sessions[at: place].handle == nil,
            !sessions[at: place].held.isEmpty
        else { return false }
        sessions[at: place].isClosing = true
        return true
    }

    /// Takes out what is held of a session.
    mutating func takeHeld(of session: SessionID) -> HeldFrames {
        guard let place = sessions.index(of: session) else { return HeldFrames() }
        let held = sessions[at: place].held
        heldByteCount -= held.uncreditedCost
        sessions[at: place].heldFrames.release()
        return held
    }

    /// When the link wants to be called, and whether it has something to send now.
    ///
    /// Mutating although they change nothing: a link that is only read is copied out of the table first.
    mutating func deadline(now: Instant) -> Instant? {
        guard !link.hasUnacknowledged, hasIdleMemory else { return link.deadline }
        return link.deadline.orEarlier(RelayLink.releaseTime(after: now))
    }
    mutating func hasOutput(now: Instant) -> Bool { link.hasOutput(now: now) }

    /// Whether one more frame that is no message may wait.
    var hasRoom: Bool {
        queued.others < RelayLink.maxOthersByteCount || queued.byteCount < RelayLink.maxQueuedByteCount
    }

    /// Beyond what its rooms hold messages back.
    private var holdingLimit: Int {
        connection == nil ? RelayLink.suspendedHoldingByteCount : RelayLink.holdingByteCount
    }

    /// Whether a request or a response may wait; one may be as long as a message.
    func takesRequest(_ byteCount: Int) -> Bool {
        queued.requests == 0 || queued.requests + byteCount <= RelayLink.maxRequestByteCount
    }

    /// Whether rooms may tell what they have to tell.
    var takesNews: Bool {
        queued.others < (connection == nil ? RelayLink.suspendedHoldingByteCount : RelayLink.newsByteCount)
    }

    /// Whether enough messages of a class wait.
    func isHolding(bulk: Bool) -> Bool {
        (bulk ? queued.bulk : queued.talk) > holdingLimit
    }

    /// Makes exact what waits.
    mutating func countQueued() {
        queued = link.queued(perFrame: RelayLink.entryByteCount)
    }

    /// How much more it holds than when it was asked last, in bytes with objects.
    ///
    /// Credit that was not given back counts whatever was paid with it: what came before a room was loaded, what is
    /// incomplete, and what is behind a gap.
    @inline(__always)
    mutating func takeChargeChange() -> Int {
        var byteCount = RelayLink.baseByteCount + link.storageByteCount + waitingByteCount
        byteCount += sessions.capacity * SortedMap<SessionID, Membership>.entryByteCount
        byteCount += link.retired.count * RelayLink.retiredByteCount
        if let packetReader {
            byteCount += packetReader.storageByteCount
            if packetReader.isStreaming { byteCount += RelayLink.streamByteCount }
        }
        defer { chargedByteCount = byteCount }
        return byteCount - chargedByteCount
    }

    /// Bytes queued for the device and bytes received from it that no room has taken, objects included.
    @inline(__always)
    var waitingByteCount: Int {
        queued.byteCount + queued.requests + link.heldByteCount + heldByteCount
            + Int(truncatingIfNeeded: link.linkCreditReceived &- link.linkCreditReleased)
    }

    /// Whether anything waits for the device, as far as it has been counted.
    var hasQueued: Bool { queued.byteCount + queued.requests > 0 }

    mutating func noteQueued(_ messages: ArraySlice<LogEntry>, isBulk: Bool) {
        var byteCount = 0
        for index in messages.indices {
            byteCount += messages[index].body.byteCount
            byteCount += messages[index].body.fragmentCount * RelayLink.entryByteCount
        }
        if isBulk { queued.bulk += byteCount } else { queued.talk += byteCount }
    }

    /// Whether so much waits, or is thought to, that it is to be counted.
    @inline(__always)
    var isMuchQueued: Bool { queued.byteCount > RelayLink.holdingByteCount / 2 }

    /// Whether rooms hold messages back.
    @inline(__always)
    var isHoldingBack: Bool { !heldBackTalk.isEmpty || !heldBackBulk.isEmpty }

    mutating func noteHeldBack(_ session: SessionID) {
        guard let place = sessions.index(of: session) else { return }
        let isBulk = sessions[at: place].isBulk
        sessions[at: place].isHeldBack = true
        if isBulk { heldBackBulk.append(session) } else { heldBackTalk.append(session) }
    }

    /// The session whose messages may flow again, if there is room for more of its class.
    mutating func popHeldBack() -> SessionID? {
        if queued.talk <= holdingLimit / 2, let session = heldBackTalk.popFirst() { return session }
        return queued.bulk <= holdingLimit / 2 ? heldBackBulk.popFirst() : nil
    }

    /// The handles of all memberships in the order of their sessions.
    var handles: [MemberHandle] {
        sessions.values.compactMap(\.handle)
    }

    // MARK: Idle

    /// How long memory is kept that an idle link does not need: a message now and then does not take it anew each time.
    private static let idleMemoryLifetime: Duration = .seconds(1)

    /// When a link that is idle now gives memory back. The times are the same for all links, so that one turn sees to
    /// many.
    private static func releaseTime(after now: Instant) -> Instant {
        let step = UInt64(idleMemoryLifetime.nanoseconds)
        return Instant(nanoseconds: (now.nanoseconds / step + 2) * step)
    }

    /// Whether it holds memory that only a link with something under way needs.
    var hasIdleMemory: Bool {
        link.hasIdleMemory || heldBackBulk.slotCount + heldBackTalk.slotCount + news.slotCount > 0
    }

    /// Gives that memory back as far as nothing is in it.
    mutating func releaseIdleMemory() {
        link.releaseIdleMemory()
        heldBackBulk.releaseIfEmpty()
        heldBackTalk.releaseIfEmpty()
        news.releaseIfEmpty()
    }
}
