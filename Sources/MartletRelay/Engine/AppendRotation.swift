import MartletLink
import MartletWire

/// The order in which relays append to a room in which several publish at the same time.
///
/// The relay that has appended least recently is the first. All relays see the same log, so they agree on the order
/// without messages about it. An append out of this order is refused by the store at worst.
///
/// | state | owns | ends |
/// |---|---|---|
/// | in rotation | the last appends of relays, the number of appends until its end | as many without contention |
/// | held | the same, the instant since which messages wait | `begin`, when it is the turn of this relay |
struct AppendRotation: Neutral, Sendable {
    static let neutral = NeutralValue<AppendRotation>()
    /// The number of appends of this relay without contention after which the rotation ends.
    static let appendCount = 8
    /// The maximum time for which messages are held (Specs/hostile.md row 132).
    static let maxDelay: Duration = .milliseconds(100)
    /// The least time that a relay has for its turn.
    static let minTurn: Duration = .milliseconds(1)
    /// The time that a relay has for its turn before this relay has measured one.
    static let initialTurn: Duration = .milliseconds(5)

    /// The last appends of other relays, of which the bus has at most `BusPeers.maxCount`.
    private var others: [RelayID: UInt64] = [:]
    /// The last offset of the last append of this relay; 0 before the first one.
    private var own: UInt64 = 0
    /// The instant at which the last append of any relay became known.
    private var lastAt = Instant.zero
    /// Whether an append became known since the last call of `begin`, which sets `lastAt`.
    private var hasAppend = false
    /// Relays that have not used their turn, and the instant of the append before it.
    private var leftOut: (relays: Set<RelayID>, since: Instant) = ([], .zero)
    /// The instant from which on the turn of a relay that was heard is measured.
    private var measuredSince: Instant?
    private var turn = AppendRotation.initialTurn
    private var heldSince: Instant?
    private var remainingCount = AppendRotation.appendCount
    /// The instant at which `begin` is due; nil unless messages are held.
    private(set) var deadline: Instant?

    init() {}

    /// Whether no relay has contended for the last appends.
    var isOver: Bool { remainingCount == 0 }

    /// Whether messages are held.
    var isHolding: Bool { heldSince != nil }

    /// The store has refused an append.
    mutating func refused() {
        remainingCount = Self.appendCount
        hasAppend = true
    }

    /// The store has an append of this relay up to an offset.
    mutating func stored(upTo offset: UInt64) {
        own = max(own, offset)
        remainingCount -= 1
        hasAppend = true
    }

    /// The bus has an append of another relay at an offset.
    mutating func noteAppend(of relay: RelayID, at offset: UInt64) {
        guard offset > others[relay] ?? 0 else { return }
        others[relay] = offset
        let isLate = leftOut.relays.remove(relay) != nil
        if isLate || isHolding { measuredSince = isLate ? leftOut.since : lastAt }
        hasAppend = true
        if isHolding { remainingCount = Self.appendCount }
    }

    /// Takes the time of the events since the last call, and decides whether this relay may append. Relays that have
    /// not used their turn are left out until their next append.
    ///
    /// - Parameters:
    ///   - hasMessages: Whether messages wait that the store may have.
    ///   - isReading: Whether the copy gets messages from the store, without which it would refuse an append.
    mutating func begin(hasMessages: Bool, isReading: Bool, now: Instant) -> Bool {
        if let since = measuredSince.take() { measured(now - since) }
        if hasAppend { lastAt = now }
        hasAppend = false
        guard hasMessages else {
            (heldSince, deadline) = (nil, nil)
            return false
        }
        let since = heldSince ?? now
        let end = since + Self.maxDelay
        let earlier = others.filter { $0.value < own }
        let at = isReading ? end : min(lastAt + turn * earlier.count, end)
        guard at <= now else {
            (heldSince, deadline) = (since, at)
            return false
        }
        (heldSince, deadline) = (nil, nil)
        if !earlier.isEmpty {
            leftOut = (Set(earlier.keys), lastAt)
            others = others.filter { $0.value > own }
        }
        return true
    }

    /// A relay has used its turn. A turn is twice the time that relays need, the longest ones of late.
    private mutating func measured(_ duration: Duration) {
        let turn = max(min(duration, Self.maxDelay) * 2, Self.minTurn)
        self.turn = turn > self.turn ? turn : (self.turn * 3 + turn) / 4
    }
}
