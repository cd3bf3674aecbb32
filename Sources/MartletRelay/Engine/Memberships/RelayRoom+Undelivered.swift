import MartletLink
import MartletWire

/// Reports of the accounts that have joined the room and have not received the messages of this relay (R-132 to R-136,
/// Their progress at other relays is in the receipts of the room.
extension RelayRoom {
    /// The store has messages of this relay behind an offset. No account has joined a room without records.
    mutating func noteStored(after offset: UInt64) {
        guard log.lastOffset > offset, allocatedMemberships.isAllocated else { return }
        scan.note(offset + 1...log.lastOffset)
    }

    /// Performs the scan that is due, and schedules the next one.
    mutating func scanUndelivered(after delay: Duration, now: Instant, into effects: inout Deque<RoomEffect>) {
        // The visit of the records waits for a scan that is due.
        if let deadline = scan.deadline, deadline > now { return }
        let hasJoined = allocatedMemberships.isAllocated && memberships.hasJoined
        let due = scan.step(delay: delay, hasJoined: hasJoined, now: now)
        if scan.deadline == nil { releaseScan() }
        report(due, into: &effects)
    }

    /// Performs the scan before its time, since the room leaves memory for a fault.
    mutating func endScan(into effects: inout Deque<RoomEffect>) {
        report(scan.runs, into: &effects)
        releaseScan()
    }

    private func report(_ runs: [ClosedRange<UInt64>], into effects: inout Deque<RoomEffect>) {
        guard let lastOffset = runs.last?.upperBound else { return }
        let reports = undelivered(runs, lastOffset)
        if !reports.isEmpty { effects.append(.undelivered(reports)) }
    }

    /// The reports about the messages of a scan: the accounts in the order of their names, and the sender of the newest
    /// message apart, because its newest message is a different message.
    private func undelivered(_ runs: [ClosedRange<UInt64>], _ lastOffset: UInt64) -> [UndeliveredReport] {
        let messages = ScannedMessages(runs, of: log.tail)
        var others: [UndeliveredReport.Recipient] = []
        var author: UndeliveredReport.Recipient?
        for account in memberships.joined.sorted() where mayEnter(account, .all) {
            let count = messages.count(behind: receipts[account]?.delivered ?? 0, notFrom: account)
            guard count > 0 else { continue }
            let recipient = UndeliveredReport.Recipient(account: account, count: count)
            if account == messages.newest?.sender { author = recipient } else { others.append(recipient) }
        }
        var reports: [UndeliveredReport] = []
        let newest = messages.newest.flatMap { UndeliveredMessage($0, in: name) }
        for start in stride(from: 0, to: others.count, by: UndeliveredReport.maxRecipientCount) {
            let part = others[start..<min(start + UndeliveredReport.maxRecipientCount, others.count)]
            reports.append(report(Array(part), lastOffset, newest))
        }
        if let author {
            let delivered = receipts[author.account]?.delivered ?? 0
            let other = messages.newestOfOthers.flatMap { $0.offset > delivered ? $0 : nil }
            reports.append(report([author], lastOffset, other.flatMap { UndeliveredMessage($0, in: name) }))
        }
        return reports
    }

    private func report(
        _ recipients: [UndeliveredReport.Recipient], _ lastOffset: UInt64, _ message: UndeliveredMessage?
    ) -> UndeliveredReport {
        UndeliveredReport(room: name, log: log.id, lastOffset: lastOffset, recipients: recipients, message: message)
    }
}

/// The messages of a scan.
private struct ScannedMessages {
    private let runs: [ClosedRange<UInt64>]
    /// The offsets of each account's messages that are in memory, in their order.
    private var sent: [AccountName: [UInt64]] = [:]
    /// The last message; nil if it is not in memory.
    private(set) var newest: LogEntry?
    /// The last message of another account than that of the newest one.
    private(set) var newestOfOthers: LogEntry?

    init(_ runs: [ClosedRange<UInt64>], of tail: LogRows) {
        self.runs = runs
        for range in runs {
            var offset = max(range.lowerBound, tail.first)
            while offset <= range.upperBound, case let row = tail.row(from: offset), let last = row.last {
                for entry in row.prefix(while: { $0.offset <= range.upperBound }) { add(entry) }
                offset = last.offset + 1
            }
        }
    }

    private mutating func add(_ entry: LogEntry) {
        sent[entry.sender, default: []].append(entry.offset)
        if let newest, newest.sender != entry.sender { newestOfOthers = newest }
        newest = entry
    }

    /// The number of messages behind an offset that other accounts have published. A message that is not in memory
    /// counts as one of another account.
    func count(behind offset: UInt64, notFrom account: AccountName) -> UInt64 {
        var count: UInt64 = 0
        for range in runs.reversed() {
            guard range.upperBound > offset else { break }
            count += range.upperBound - max(range.lowerBound - 1, offset)
        }
        return count - UInt64(sent[account]?.reversed().prefix { $0 > offset }.count ?? 0)
    }
}
