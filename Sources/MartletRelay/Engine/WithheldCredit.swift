import MartletLink
import MartletWire

/// Credit of messages that waits until the rate of their account permits more.
///
/// | state of a session | owns | ends |
/// |---|---|---|
/// | waiting | the sum of its withheld credit, in bytes | the instant at which the account is in credit |
///
/// A session whose link has ended waits too; its credit has no receiver then.
struct WithheldCredit: Sendable {
    private var byteCounts: [MemberKey: Int] = [:]
    private var ends = DeadlineQueue<MemberKey, Instant>()

    /// The instant at which `popDue` has a result.
    var deadline: Instant? { ends.earliest }

    /// Withholds credit of a session, together with earlier credit.
    mutating func add(_ byteCount: Int, of member: MemberKey, until end: Instant) {
        byteCounts[member, default: 0] += byteCount
        ends.set(member, at: end)
    }

    /// Takes the credit of a session that has waited long enough.
    mutating func popDue(now: Instant) -> (member: MemberKey, byteCount: Int)? {
        guard let member = ends.popExpired(now: now), let count = byteCounts.removeValue(forKey: member) else {
            return nil
        }
        return (member, count)
    }
}
