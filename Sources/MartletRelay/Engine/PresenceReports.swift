import MartletLink
import MartletWire

/// The reports of presence that a member's connection may have lost.
///
/// Transient frames are not sent again, so a member that has a connection again is sent the presence of each account
/// that was reported since its link last received something. The oldest reports are discarded beyond `maxAccounts`
/// accounts.
struct PresenceReports: Sendable {
    /// The maximum number of accounts of a room whose reports are kept for members without a connection.
    static let maxAccounts = 256
    /// The time before the last bytes from a peer whose reports may not have reached it.
    static let overlap = Duration.seconds(10)

    private struct Report: Sendable {
        var account: AccountName
        var sentAt: Instant
    }

    /// The reports in the order of time. An account may have several until the next `compact`.
    private var reports = Deque<Report>()

    /// Reports with those of accounts that were reported again.
    var count: Int { reports.count }

    /// The presence of an account was reported.
    mutating func note(_ account: AccountName, now: Instant) {
        reports.append(Report(account: account, sentAt: now))
        if reports.count > 2 * PresenceReports.maxAccounts { removeOutdated() }
    }

    /// The accounts whose reports may not have reached a peer whose last bytes were received at an instant, the latest
    /// report first.
    func accounts(since lastReceived: Instant) -> [AccountName] {
        let since = lastReceived + (.zero - PresenceReports.overlap)
        var seen: Set<AccountName> = []
        var accounts: [AccountName] = []
        for report in reports.reversed() {
            guard report.sentAt >= since else { break }
            if seen.insert(report.account).inserted { accounts.append(report.account) }
        }
        return accounts
    }

    /// Discards all reports.
    mutating func removeAll() { reports.removeAll() }

    /// Keeps the latest report of each of the latest accounts.
    private mutating func removeOutdated() {
        var seen: Set<AccountName> = []
        var latest: [Report] = []
        for report in reports.reversed() where seen.count < PresenceReports.maxAccounts {
            if seen.insert(report.account).inserted { latest.append(report) }
        }
        reports = Deque(latest.reversed())
    }
}
