import MartletWire

/// The accounts that were revoked lately, for those who were being authenticated meanwhile: their proof is older than
/// the revocation, wherever they are on their way through the relay's loops (C-28).
struct Revocations: Sendable {
    /// How long a revocation is remembered; longer than any handshake takes.
    static let lifetime: Duration = .seconds(60)
    /// Revocations remembered at the most; the oldest is forgotten for a new one.
    static let maxCount = 65_536

    private var order = Deque<(account: AccountName, at: Instant)>()
    private var latest: [AccountName: Instant] = [:]

    /// An account's credentials hold no longer.
    mutating func insert(_ account: AccountName, now: Instant) {
        while let first = order.first, order.count >= Revocations.maxCount || first.at + Revocations.lifetime < now {
            _ = order.popFirst()
            if latest[first.account] == first.at { latest[first.account] = nil }
        }
        order.append((account, now))
        latest[account] = now
    }

    /// Whether what an account proved at an instant has been revoked since.
    func covers(_ account: AccountName, provenAt instant: Instant) -> Bool {
        guard let at = latest[account] else { return false }
        return instant <= at
    }
}
