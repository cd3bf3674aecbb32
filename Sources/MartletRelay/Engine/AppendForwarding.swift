import MartletLink
import MartletWire

/// How a relay appends to a room in which several relays publish at the same time.
///
/// A relay whose append was refused forwards its waiting messages to the *appender*, the relay of the last append. The
/// appender appends them together with its own, and awaits those of all relays, so that they share a commit. They are
/// accepted when its append arrives, as messages that were published through two relays. An append of a relay that does
/// not forward is refused by the store at worst.
///
/// | state | owns | ends |
/// |---|---|---|
/// | appending | the offset of the last append, the number of appends until its end, the relays that have forwarded messages | the last append is of a different relay |
/// | forwarding | the same, the appender, the number of messages that it was sent, the instant since which the first one waits | `maxDelay`; the appender is away; an append of this relay is stored |
struct AppendForwarding: Neutral, Sendable {
    static let neutral = NeutralValue<AppendForwarding>()
    /// The number of appends in sequence with messages of one relay only after which it appends directly.
    static let appendCount = 8
    /// The maximum time for which messages wait for the appender (Specs/hostile.md row 132).
    static let maxDelay: Duration = .milliseconds(100)
    /// The maximum time after an append for which the appender awaits messages of the relays that had some in it.
    static let maxGathering: Duration = .milliseconds(5)

    /// What becomes of the waiting messages.
    enum Decision: Equatable {
        case append
        case wait
        /// Send the messages after the first ones to the appender.
        case forward(RelayID, after: Int)
    }

    /// The relay of the last append; nil for this relay, and if it is not known.
    private(set) var appender: RelayID?
    private var lastOffset: UInt64 = 0
    /// The number of the first waiting messages that the appender was sent.
    private var sentCount = 0
    private var waitsSince: Instant?
    private var remainingCount = AppendForwarding.appendCount
    /// The relays that had forwarded messages in the last append of this relay, of at most `BusPeers.maxCount`.
    private var awaited: Set<RelayID> = []
    /// The relays that have forwarded messages since that append began.
    private var senders: Set<RelayID> = []
    private var storedAt = Instant.zero
    /// Whether an append of this relay was stored since the last call of `begin`, which sets `storedAt`.
    private var hasStored = false
    /// The instant at which `begin` is due; nil unless messages wait.
    private(set) var deadline: Instant?

    init() {}

    /// Whether only one relay has published of late.
    var isOver: Bool { remainingCount == 0 }

    /// The store has refused an append.
    mutating func refused() { remainingCount = Self.appendCount }

    /// The store has an append of this relay up to an offset.
    mutating func stored(upTo offset: UInt64) {
        remainingCount = max(remainingCount - 1, 0)
        hasStored = true
        waitsSince = nil
        noteAppend(of: nil, upTo: offset)
    }

    /// A different relay has sent messages to this one.
    mutating func received(from relay: RelayID) {
        remainingCount = Self.appendCount
        senders.insert(relay)
    }

    /// A relay has appended up to an offset; nil for this one. An earlier append has no effect.
    mutating func noteAppend(of relay: RelayID?, upTo offset: UInt64) {
        guard offset > lastOffset else { return }
        lastOffset = offset
        if relay != appender { (appender, sentCount) = (relay, 0) }
    }

    /// A relay is away.
    mutating func lost(_ relay: RelayID) {
        if appender == relay { appender = nil }
        awaited.remove(relay)
        senders.remove(relay)
    }

    /// The copy has taken messages of the store.
    ///
    /// - Parameter isTaken: Whether each message that was waiting does not wait any more.
    mutating func took(_ count: Int, of isTaken: [Bool]) {
        sentCount = isTaken.prefix(sentCount).count { !$0 }
        if isTaken.first != false { waitsSince = nil }
        guard count > 0 else { return }
        remainingCount = isTaken.count { $0 } == count ? max(remainingCount - 1, 0) : Self.appendCount
    }

    /// Decides about the waiting messages.
    ///
    /// - Parameters:
    ///   - waitingCount: The number of messages that wait while the store has no append.
    ///   - mayForward: Whether all of them can be forwarded.
    mutating func begin(waitingCount: Int, mayForward: Bool, now: Instant) -> Decision {
        if hasStored { storedAt = now }
        hasStored = false
        guard waitingCount > 0 else {
            end()
            return .append
        }
        let since = waitsSince ?? now
        waitsSince = since
        guard mayForward, let appender, since + Self.maxDelay > now else { return gather(now: now) }
        deadline = since + Self.maxDelay
        guard waitingCount > sentCount else { return .wait }
        defer { sentCount = waitingCount }
        return .forward(appender, after: sentCount)
    }

    /// Appends the messages when those of the other relays have arrived.
    mutating func gather(now: Instant) -> Decision {
        (deadline, sentCount) = (nil, 0)
        guard awaited.isSubset(of: senders) || storedAt + Self.maxGathering <= now else {
            deadline = storedAt + Self.maxGathering
            return .wait
        }
        (awaited, senders) = (senders, [])
        return .append
    }

    /// No message waits for the appender.
    private mutating func end() { (waitsSince, deadline, sentCount) = (nil, nil, 0) }
}
