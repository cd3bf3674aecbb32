import MartletLink
import MartletWire

/// What the rooms of a loop have to ask the other relays of the bus.
///
/// | state | owns | ends |
/// |---|---|---|
/// | complete | the relays, each with the number before which datagrams may be missing | `noteIncomplete`, `ask` |
/// | asking | the same, the instant and the first room of the next questions | `asked`, when no room is incomplete |
struct BusRooms: Sendable {
    /// The interval of questions.
    static let interval: Duration = .seconds(1)
    /// The maximum number of rooms of a loop that are asked about in an interval.
    static let maxAskCount = 512
    /// The number of rooms of a loop whose members are sent at once, and in a minute, to relays that ask.
    static let answerBurst = 4096
    static let answersPerMinute = 245_760

    /// The maximum number of bytes of an item.
    let maxItemByteCount: Int
    /// The other relays, with the numbers before which datagrams may be missing.
    private(set) var relays: [RelayID: UInt64] = [:]
    private var answers = TokenBucket(burst: BusRooms.answerBurst, perMinute: BusRooms.answersPerMinute)
    private var askAt: Instant?
    private var place = 0
    /// Whether a room was incomplete since the first room.
    private var hasFound = false

    /// Begins without other relays.
    init(maxItemByteCount: Int) {
        self.maxItemByteCount = maxItemByteCount
    }

    /// The instant at which rooms are asked about; nil if all are complete.
    var deadline: Instant? { askAt }

    /// Datagrams of a relay may be missing.
    mutating func noteIncomplete(_ relay: RelayID, before number: UInt64, now: Instant) {
        relays[relay] = number
        hasFound = true
        askAt = min(askAt ?? now, now)
    }

    mutating func remove(_ relay: RelayID) { relays[relay] = nil }

    /// A room has asked for itself. It is asked about again if there is no answer.
    mutating func ask(now: Instant) { askAt = askAt ?? now + Self.interval }

    /// The first room of the questions that are due; nil if none are.
    func begin(now: Instant) -> Int? { askAt.map { $0 <= now } == true ? place : nil }

    /// Questions were sent about a number of rooms.
    ///
    /// - Parameter next: The first room of the next questions; nil behind the last room.
    mutating func asked(_ count: Int, next: Int?, now: Instant) {
        place = next ?? 0
        hasFound = hasFound || count > 0
        // A part of the table without incomplete rooms costs little.
        if next != nil { return askAt = count > 0 ? now + Self.interval : now }
        askAt = hasFound ? now + Self.interval : nil
        hasFound = false
    }

    /// Whether a relay that asks is answered now.
    mutating func mayAnswer(now: Instant) -> Bool { answers.take(now: now) }
}
