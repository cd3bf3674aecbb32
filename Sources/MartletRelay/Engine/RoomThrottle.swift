import MartletLink
import MartletWire

/// The rate at which messages are published in a room, and the credit that the room withholds meanwhile (R-95,
/// Specs/hostile.md row 83).
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | nothing | a message |
/// | in credit | the rest of the burst | messages beyond it; the burst is complete again |
/// | overdrawn | the credit of messages that are accepted meanwhile | the instant at which the room is in credit |
struct RoomThrottle: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<RoomThrottle>()
    /// Credit of one session's messages.
    private struct Withheld: Sendable {
        var member: MemberKey
        var account: AccountName?
        var byteCount: Int
    }

    private var allowance: MessageAllowance?
    private var withheld: [Withheld] = []
    /// Whether credit is withheld since the last update.
    private(set) var isOverdrawn = false

    /// The instant at which `update` has a result, or the throttle is idle.
    var deadline: Instant? { isOverdrawn ? allowance?.creditAt : allowance?.fullAt }

    /// Counts messages that were published. Returns the sessions whose credit is no longer withheld.
    mutating func update(
        messageCount: Int, byteCount: Int, rate: MessageRate, now: Instant
    ) -> [(member: MemberKey, byteCount: Int)] {
        if messageCount > 0 {
            var rest = allowance ?? MessageAllowance(rate)
            rest.spend(messageCount: messageCount, byteCount: byteCount, now: now)
            allowance = rest
        }
        isOverdrawn = allowance.map { $0.creditAt > now } ?? false
        if let allowance, allowance.fullAt <= now { self.allowance = nil }
        guard !isOverdrawn, !withheld.isEmpty else { return [] }
        defer { withheld = [] }
        return withheld.map { ($0.member, $0.byteCount) }
    }

    /// Whether the burst is complete.
    var isIdle: Bool { allowance == nil && withheld.isEmpty }

    /// Withholds the credit of a session, together with earlier credit.
    mutating func withhold(_ byteCount: Int, from member: MemberKey, of account: AccountName?) {
        if let index = withheld.firstIndex(where: { $0.member == member }) {
            withheld[index].byteCount += byteCount
        } else {
            withheld.append(Withheld(member: member, account: account, byteCount: byteCount))
        }
    }

    /// Whether an account has credit that is withheld. Another session would give it more.
    func withholds(from account: AccountName) -> Bool { isOverdrawn && withheld.contains { $0.account == account } }
}

extension RelayRoom {
    /// Counts the messages of this turn, and releases credit that is no longer withheld.
    mutating func updateThrottle(_ rate: MessageRate, now: Instant, into effects: inout Deque<RoomEffect>) {
        let published = isBusy ? publication.takePublished() : (messageCount: 0, byteCount: 0)
        guard published.messageCount > 0 || throttle.isAllocated else { return }
        let released = throttle.value.update(
            messageCount: published.messageCount, byteCount: published.byteCount, rate: rate, now: now)
        for (member, byteCount) in released { effects.append(.release(member, byteCount: byteCount)) }
        if throttle.value.isIdle { throttle.release() }
    }

    /// Releases the credit of accepted messages, or withholds it while the room exceeds its rate.
    mutating func release(_ publisher: MemberHandle, _ credit: Int, into effects: inout Deque<RoomEffect>) {
        guard throttle.isAllocated, throttle.value.isOverdrawn else {
            return effects.append(.release(publisher.key, byteCount: credit))
        }
        let account = members.slot(publisher).map { members[$0].who.account }
        throttle.value.withhold(credit, from: publisher.key, of: account)
    }
}
