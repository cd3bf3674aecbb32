import MartletLink
import MartletWire

/// The members of a room that are typing.
///
/// | state of an account | begins | ends |
/// |---|---|---|
/// | not typing | | a report of typing |
/// | typing | a report of typing; each repetition moves the deadline | a report of the end; not online; deadline |
struct TypingMembers: Equatable, Sendable {
    /// The duration for which an account counts as typing after its last report.
    static let timeout: Duration = .seconds(10)
    /// The maximum number of typing accounts. Reports of further accounts are dropped.
    static let maxCount = 256

    private var deadlines: [AccountName: Instant] = [:]

    /// The instant of the next call of `expired`; nil if no account is typing.
    var deadline: Instant? { deadlines.values.min() }

    /// Records a report of an account. Returns false if the report is dropped.
    mutating func note(_ account: AccountName, isTyping: Bool, now: Instant) -> Bool {
        guard isTyping else {
            deadlines[account] = nil
            return true
        }
        guard deadlines[account] != nil || deadlines.count < TypingMembers.maxCount else { return false }
        deadlines[account] = now + TypingMembers.timeout
        return true
    }

    /// Removes an account. Returns whether it was typing.
    mutating func remove(_ account: AccountName) -> Bool {
        deadlines.removeValue(forKey: account) != nil
    }

    /// Removes and returns the accounts whose deadlines have passed, sorted by name.
    mutating func expired(now: Instant) -> [AccountName] {
        let ended = deadlines.filter { $0.value <= now }.keys.sorted { $0.text < $1.text }
        for account in ended { deadlines[account] = nil }
        return ended
    }
}
