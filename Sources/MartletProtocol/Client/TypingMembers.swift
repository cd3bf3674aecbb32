import MartletWire

/// The members of a room who type, each until it says otherwise, leaves, or has not said so again for `timeout`.
///
/// | state of an account | begins | ends |
/// |---|---|---|
/// | not typing | | said to type |
/// | typing, until a deadline | said to type; each repetition moves the deadline | said to have ended, not online, deadline |
struct TypingMembers: Equatable, Sendable {
    /// How long an account counts as typing that does not repeat it.
    static let timeout: Duration = .seconds(10)
    /// Accounts that type at a time, at the most; what others say of it is dropped.
    static let maxCount = 256

    private var deadlines: [AccountName: Instant] = [:]

    /// When `expired` has something to answer.
    var deadline: Instant? { deadlines.values.min() }

    /// An account says whether it types; false when that is to be dropped.
    mutating func note(_ account: AccountName, isTyping: Bool, now: Instant) -> Bool {
        guard isTyping else {
            deadlines[account] = nil
            return true
        }
        guard deadlines[account] != nil || deadlines.count < TypingMembers.maxCount else { return false }
        deadlines[account] = now + TypingMembers.timeout
        return true
    }

    /// An account is not there any more; answers whether it was typing.
    mutating func remove(_ account: AccountName) -> Bool {
        deadlines.removeValue(forKey: account) != nil
    }

    /// Takes out the accounts whose time is up, in an order that does not depend on how a table hashes.
    mutating func expired(now: Instant) -> [AccountName] {
        let ended = deadlines.filter { $0.value <= now }.keys.sorted { $0.text < $1.text }
        for account in ended { deadlines[account] = nil }
        return ended
    }
}
