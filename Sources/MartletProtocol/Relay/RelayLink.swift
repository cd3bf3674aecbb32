import MartletWire

/// A device's link at the relay: what outlives its connections, and where its sessions are members.
struct RelayLink: Sendable {
    /// Frames that a session may send before its room has been loaded.
    static let maxHeldFrames = 1024
    /// Bytes that all sessions of a link may send before their rooms have been loaded, beside what has credit.
    static let maxHeldByteCount = 64 * 1024
    /// Bytes of messages that wait for a device or its acknowledgement, objects counted, beyond which its rooms hold
    /// messages back. Bulk is counted apart from talk, so that no line waits behind a file.
    static let holdingByteCount = 320 * 1024
    /// Bytes of all that waits, and of what of it is no message, beyond both of which a session that has more to say is
    /// reset (R-45, Specs/hostile.md row 20).
    static let maxQueuedByteCount = 960 * 1024
    static let maxOthersByteCount = 192 * 1024
    /// What a frame that waits costs beside its bytes: its place in the queue and its body's objects.
    static let entryByteCount = 192
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
    var connection: Int?
    /// Reads the connection's packets and is this connection's alone; nil until it was needed, and on a connection that
    /// none may come on. It is here because it rests when the link does.
    var framer: FramerBox?
    var suspendedAt: Instant?
    var sessions = SortedMap<SessionID, Membership>()
    var transients = TokenBucket(burst: 100, perMinute: RelayLink.transientsPerMinute)
    /// Requests that it has sent and not cancelled, as far as they are counted.
    var cancelsDue = 0
    /// Bytes without credit that all sessions hold.
    var heldByteCount = 0
    /// What waits, objects counted; made exact when it matters.
    var queued = LinkBacklog()
    /// Sessions whose rooms hold messages back, those that have waited for longest first: bulk, and talk.
    var heldBackBulk = Deque<SessionID>()
    var heldBackTalk = Deque<SessionID>()
    var isTouched = false
    /// Whether it was touched since it was last asked whether it may rest.
    var wasTouched = true
    /// What the engine's timer is set to, at the latest.
    var armedAt: Instant?

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
        /// Whether its room holds messages back, because enough is on the link's way.
        var isHeldBack = false
        var receipts = ReceiptAllowance()
        /// What came before that.
        var held: [OrderedFrame] = []

        var uncreditedByteCount: Int {
            held.reduce(0) { $0 + ($1.creditByteCount == 0 ? $1.body.count : 0) }
        }
    }

    /// When the link wants to be called, and whether it has something to send now.
    ///
    /// Mutating although they change nothing: a link that is only read is copied out of the table first.
    mutating func deadline() -> Instant? { link.deadline }
    mutating func hasOutput(now: Instant) -> Bool { link.hasOutput(now: now) }

    /// What a framer keeps from one incomplete frame to the next, while its link is awake.
    static let ringByteCount = 2048

    /// The framer of a connection that packets may come on; nil where none may.
    mutating func packetFramer() -> FramerBox? {
        guard link.readsPackets else { return nil }
        if let framer { return framer }
        let made = framer(packedContext: [])
        framer = made
        return made
    }

    /// One that goes on where another was when it gave its `packedContext`.
    func framer(packedContext: [UInt8]) -> FramerBox {
        var framer = Framer(
            maxBodyByteCount: link.limits.maxBodyByteCount, ringByteCount: RelayLink.ringByteCount,
            deflated: link.features.contains(.sharedDeflate), packedContext: packedContext)
        framer.maxPacketsPerCall = TurnBudget.packetsPerCall
        return FramerBox(framer)
    }

    /// Whether one more frame that is no message may wait.
    var hasRoom: Bool {
        queued.others < RelayLink.maxOthersByteCount || queued.byteCount < RelayLink.maxQueuedByteCount
    }

    /// Whether enough messages of a class wait.
    func isHolding(bulk: Bool) -> Bool {
        (bulk ? queued.bulk : queued.talk) > RelayLink.holdingByteCount
    }

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
        let isBulk = sessions.values[place].isBulk
        sessions.values[place].isHeldBack = true
        if isBulk { heldBackBulk.append(session) } else { heldBackTalk.append(session) }
    }

    /// The session whose messages may flow again, if there is room for more of its class.
    mutating func popHeldBack() -> SessionID? {
        if queued.talk <= RelayLink.holdingByteCount / 2, let session = heldBackTalk.popFirst() { return session }
        return queued.bulk <= RelayLink.holdingByteCount / 2 ? heldBackBulk.popFirst() : nil
    }

    /// The handles of all memberships in the order of their sessions.
    var handles: [MemberHandle] {
        sessions.values.compactMap(\.handle)
    }
}
