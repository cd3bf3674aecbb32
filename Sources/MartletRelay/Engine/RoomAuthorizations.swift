import MartletLink
import MartletWire

/// The expiry of the room policy's decisions about the sessions of one loop.
///
/// | state of a session | owned here | ends |
/// |---|---|---|
/// | decided | a deadline, if the decision expires | `popExpired`, `cancelExpiry` |
struct RoomAuthorizations: Sendable {
    /// The minimum validity of a decision.
    static let minValidity: Duration = .seconds(1)

    /// A question to the room policy, with what waits for the decision.
    enum Question: Sendable {
        /// A session opens its room. Without an `open` it has joined the room, and the earlier decision stays in
        /// effect.
        case session(MemberKey, Open?)
        /// A request of an account's session.
        case call(MembershipCall)
        /// A room in the list of an account, about whose messages the policy is asked. The generation is that
        /// of the session's decisions.
        case entry(MemberKey, RoomName, generation: UInt64)
        /// A request for the administration of the relay.
        indirect case administration(AdministrationCall)

        /// The session.
        var member: MemberKey {
            switch self {
            case .session(let member, _), .entry(let member, _, _): member
            case .call(let call): call.caller
            case .administration(let call): call.caller
            }
        }
    }

    private var expiries = DeadlineQueue<MemberKey, Instant>()

    var deadline: Instant? { expiries.earliest }

    /// A decision expires after this duration.
    mutating func setExpiry(of member: MemberKey, after validity: Duration, now: Instant) {
        expiries.set(member, at: now + max(validity, RoomAuthorizations.minValidity))
    }

    mutating func popExpired(now: Instant) -> MemberKey? { expiries.popExpired(now: now) }

    /// A session is asked about again, or has ended.
    mutating func cancelExpiry(of member: MemberKey) { expiries.cancel(member) }
}
