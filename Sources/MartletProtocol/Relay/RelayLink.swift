import MartletWire

/// A device's link at the relay: what outlives its connections, and where its sessions are members.
struct RelayLink: Sendable {
    /// Frames that a session may send before its room has been loaded.
    static let maxHeldFrames = 1024
    /// Bytes that all sessions of a link may send before their rooms have been loaded, beside what has credit.
    static let maxHeldByteCount = 64 * 1024
    /// Bytes that wait for a device or its acknowledgement, objects counted, beyond which its rooms hold messages back.
    static let holdingByteCount = 512 * 1024
    /// The same at the most; a session that wants more is reset (Specs/hostile.md row 20).
    static let maxQueuedByteCount = 960 * 1024
    /// What a frame that waits costs beside its bytes: its place in the queue and its body's objects.
    static let entryByteCount = 192
    /// Transient frames that a link may send a minute before further ones are dropped.
    static let transientsPerMinute = 600

    let key: LinkKey
    let id: LinkID
    let who: DeviceKey
    var link: Link
    var epoch = Epoch(rawValue: 1)
    var token: TokenDigest
    var connection: Int?
    var suspendedAt: Instant?
    var sessions: [SessionID: Membership] = [:]
    var transients = TokenBucket(burst: 100, perMinute: RelayLink.transientsPerMinute)
    /// Bytes without credit that all sessions hold.
    var heldByteCount = 0
    /// Bytes that wait, objects counted; made exact when it matters.
    var queuedByteCount = 0
    /// Sessions whose rooms hold messages back, those that have waited for longest first.
    var heldBack = Deque<SessionID>()
    var isTouched = false

    /// A session's place in its room.
    struct Membership: Sendable {
        var room: RoomName
        /// Nil until the room has let the session in.
        var handle: MemberHandle?
        /// Whether the session asked to hold messages back.
        var isSuspended = false
        /// Whether its room holds messages back, because enough is on the link's way.
        var isHeldBack = false
        /// What came before that.
        var held: [OrderedFrame] = []

        var uncreditedByteCount: Int {
            held.reduce(0) { $0 + ($1.creditByteCount == 0 ? $1.body.count : 0) }
        }
    }

    /// The handles of all memberships in the order of their sessions.
    var handles: [MemberHandle] {
        sessions.sorted { $0.key < $1.key }.compactMap(\.value.handle)
    }
}
