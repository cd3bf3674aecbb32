public import MartletLink
import MartletWire

/// Groups refusals for an audit log, so that a peer cannot fill it (Specs/hostile.md row 65).
///
/// The first refusal of an account is written at once. Further ones are counted, and written as one record in each
/// `interval`, with the next record of any kind. Other records are written at once.
///
/// | state of an account | owns | ends |
/// |---|---|---|
/// | unknown | nothing | a refusal, which is written |
/// | counting | the end of an interval, the last refusal, the number of unwritten ones | an interval without one |
public struct AuditRefusals: Sendable {
    /// The minimum duration between two records of an account's refusals, and between two lines of the log about a
    /// kind of fault.
    public static let interval: Duration = .seconds(10)
    /// The maximum number of accounts that are counted apart. The refusals of all others are counted together.
    public static let maxAccountCount = 1_024

    private struct Counting: Sendable {
        var last: AuditRecord
        var count = 0
    }

    /// The accounts; nil for those beyond the maximum.
    private var accounts: [AccountName?: Counting] = [:]
    private var ends = DeadlineQueue<AccountName?, Instant>()

    /// Creates a group without refusals.
    public init() {}

    /// Takes a record, and returns the records to write.
    public mutating func add(_ record: AuditRecord, now: Instant) -> [AuditRecord] {
        var records = due(now: now)
        guard record.isRefusal else { return records + [record] }
        let isKnown = accounts[record.account] != nil || accounts.count < Self.maxAccountCount
        let account = isKnown ? record.account : nil
        if let counting = accounts[account] {
            accounts[account] = Counting(last: record, count: counting.count + record.count)
        } else {
            accounts[account] = Counting(last: record)
            ends.set(account, at: now + Self.interval)
            records.append(record)
        }
        return records
    }

    /// Returns all counted refusals, at the end of the log.
    public mutating func finish() -> [AuditRecord] {
        var records: [AuditRecord] = []
        while let account = ends.popExpired(now: .distantFuture) {
            if let record = summary(of: account) { records.append(record) }
            accounts[account] = nil
        }
        return records
    }

    /// The records of the intervals that have ended.
    private mutating func due(now: Instant) -> [AuditRecord] {
        var records: [AuditRecord] = []
        while let account = ends.popExpired(now: now) {
            guard let record = summary(of: account) else {
                accounts[account] = nil
                continue
            }
            records.append(record)
            accounts[account]?.count = 0
            ends.set(account, at: now + Self.interval)
        }
        return records
    }

    /// The last refusal of an account with the number of those that are not written; nil without one.
    private func summary(of account: AccountName?) -> AuditRecord? {
        guard let counting = accounts[account], counting.count > 0 else { return nil }
        var record = counting.last
        record.count = counting.count
        record.account = account
        return record
    }
}
