import MartletLink

/// The eviction of rooms and links of one loop that exceed the loop's share of the relay's memory budget (R-48,
/// Specs/hostile.md row 37).
///
/// The tables of connections, links and rooms count their bytes, so that no search is needed for a message. The bytes
/// of a queue are an upper bound until they are counted again: a body counts in each queue that holds it.
///
///     fits ──more than the budget──► over: rooms and links are evicted ──still over──► full: new objects are refused
///      ▲                               │                                                │
///      └───────────────────────────────┴────────── within the budget again ─────────────┘
///
/// An eviction that ends a link with many sessions continues in the next turn, so that no turn is long.
struct MemoryLedger: Sendable {
    /// Bytes of a connection beside its incomplete frame, its socket's objects included.
    static let connectionByteCount = 768
    /// The minimum duration between two evictions, unless the budget is exceeded by a sixteenth: a successful one then
    /// frees at least three sixteenths.
    static let evictionInterval: Duration = .milliseconds(50)

    enum OnCheck: Equatable {
        case fits
        /// Rooms and links are evicted until this many bytes are held.
        case evict(to: Int)
        /// The eviction of the last turn continues.
        case continueEviction(to: Int)
        /// The last eviction was recent, or nothing can be evicted.
        case wait
    }

    /// The maximum number of bytes.
    let budget: Int
    /// The number of bytes down to which rooms and links are evicted.
    private let goal: Int
    /// Whether new objects are refused.
    private(set) var isFull = false
    /// Whether an eviction has left more than fifteen sixteenths of the budget, until an eighth of it is free.
    private(set) var isShort = false
    private var evictedAt: Instant?
    private var roomsEvictedAt: Instant?
    /// Whether the eviction continues in the next turn.
    private(set) var continues = false
    /// Whether this turn has ended a link with many sessions.
    private var isTurnSpent = false

    init(budget: Int) {
        self.budget = budget
        goal = budget - budget / 8
    }

    /// Decides at the end of a turn, for all bytes that are held.
    @inline(__always)
    mutating func check(_ byteCount: Int, now: Instant) -> OnCheck {
        guard byteCount > budget || continues else {
            isFull = false
            if byteCount <= goal { isShort = false }
            return .fits
        }
        guard !isTurnSpent else { return .wait }
        return overBudget(byteCount, now: now)
    }

    @inline(never)
    private mutating func overBudget(_ byteCount: Int, now: Instant) -> OnCheck {
        if continues { return .continueEviction(to: goal) }
        if let evictedAt, evictedAt + MemoryLedger.evictionInterval > now {
            // One message to a large room can charge more than a sixteenth, which requires an eviction at once but no
            // refusal.
            guard !isFull, byteCount > budget + budget / 16 else { return .wait }
        }
        evictedAt = now
        return .evict(to: goal)
    }

    /// A link with many sessions was ended. The eviction continues in the next turn.
    mutating func linkEnded() {
        (continues, isTurnSpent) = (true, true)
    }

    /// Ends the turn.
    mutating func endTurn() {
        isTurnSpent = false
    }

    /// Whether links may end now because the number of rooms has reached its maximum.
    mutating func mayEvictForRooms(now: Instant) -> Bool {
        if let roomsEvictedAt, roomsEvictedAt + MemoryLedger.evictionInterval > now { return false }
        roomsEvictedAt = now
        return true
    }

    /// All possible evictions were made. The relay is full if the rest still exceeds the budget.
    mutating func evicted(remaining byteCount: Int) {
        continues = false
        isFull = byteCount > budget
        isShort = byteCount > budget - budget / 16
    }
}
