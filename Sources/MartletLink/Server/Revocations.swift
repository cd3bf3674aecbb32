import MartletWire

/// Recently revoked accounts, for authentications in progress: their proof is older than the revocation, also during a
/// transfer between loops (C-28).
struct Revocations: Sendable {
    /// The duration for which a revocation is kept; longer than any handshake.
    static let lifetime: Duration = .seconds(60)
    /// The maximum number of revocations; a new one replaces the oldest.
    static let maxCount = 65_536

    private var order = Deque<(account: AccountName, at: Instant)>()
    private var latest: [AccountName: Instant] = [:]

    /// An account's credentials were revoked.
    mutating func insert(_ account: AccountName, now: Instant) {
        while let first = order.first, order.count >= Revocations.maxCount || first.at + Revocations.lifetime < now {
            _ = order.popFirst()
            if latest[first.account] == first.at { latest[first.account] = nil }
        }
        order.append((account, now))
        latest[account] = now
    }

    /// Whether an account was revoked after it was authenticated at an instant.
    func covers(_ account: AccountName, provenAt instant: Instant) -> Bool {
        guard let at = latest[account] else { return false }
        return instant <= at
    }
}
