/// What the engine of one loop holds in memory, in bytes with objects, against the loop's share of the relay's budget
/// (R-48, Specs/hostile.md row 37).
///
/// Each class has one place that changes it, so nothing is looked through for a message.
///
///     class        changed by                                        counts
///     links        a link after a turn in which it was touched       its queues, what it holds, its sessions
///     connections  a frame that is not whole, bytes on their way     the framer's storage, what the carrier has left
///     rooms        a room after a turn in which it was touched       `Rooms.memoryByteCount`
///
/// A queue's share is an upper bound until it is counted anew: a body counts in each queue that holds it. States:
///
///     fits ──more than the budget──► over: rooms and links give way ──still over──► full: what is new is refused
///      ▲                               │                                             │
///      └───────────────────────────────┴──────────── within the budget again ────────┘
struct MemoryLedger: Sendable {
    /// What a connection takes beside what it has read of a frame, in bytes, its socket's objects included.
    static let connectionByteCount = 768
    /// The shortest time between two searches for rooms and links that can give way, unless the budget is exceeded by a
    /// sixteenth: each search that succeeds frees at least three sixteenths then.
    static let reliefInterval: Duration = .milliseconds(50)

    enum OnCheck: Equatable {
        case fits
        /// Rooms and links have to give way until this many bytes are held.
        case giveWay(to: Int)
        /// They have just done so, or there is nothing that could.
        case wait
    }

    /// Bytes that may be held.
    let budget: Int
    /// What links hold, and connections beside what each takes.
    private(set) var links = 0
    private(set) var connections = 0
    /// Whether what is new is refused.
    private(set) var isFull = false
    private var relievedAt: Instant?
    private var roomsRelievedAt: Instant?
    private var isGoingOn = false

    init(budget: Int) {
        self.budget = budget
    }

    /// Links hold so much more, or less.
    @inline(__always)
    mutating func changeLinks(by byteCount: Int) { links += byteCount }

    /// Connections hold so much more, or less.
    mutating func changeConnections(by byteCount: Int) { connections += byteCount }

    /// At the end of a turn, with all that is held.
    @inline(__always)
    mutating func check(_ byteCount: Int, now: Instant) -> OnCheck {
        guard byteCount > budget || isGoingOn else {
            isFull = false
            return .fits
        }
        return overBudget(byteCount, now: now)
    }

    @inline(never)
    private mutating func overBudget(_ byteCount: Int, now: Instant) -> OnCheck {
        if !isGoingOn, let relievedAt, relievedAt + MemoryLedger.reliefInterval > now {
            // One message to a large room can charge more than a sixteenth: that is no reason to refuse anything, but
            // for giving way at once.
            guard !isFull, byteCount > budget + budget / 16 else { return .wait }
        }
        relievedAt = now
        return .giveWay(to: budget - budget / 8)
    }

    /// Continues the eviction at the next check. The memory of an ended link is freed later in the turn.
    mutating func goOn() {
        isGoingOn = true
    }

    /// There are as many rooms as may be: whether links may end for that now.
    mutating func mayRelieveRooms(now: Instant) -> Bool {
        if let roomsRelievedAt, roomsRelievedAt + MemoryLedger.reliefInterval > now { return false }
        roomsRelievedAt = now
        return true
    }

    /// All that can give way has: what is left is full when it is still more than the budget.
    mutating func relieved(_ byteCount: Int) {
        isGoingOn = false
        isFull = byteCount > budget
    }
}
