import MartletLink
import MartletWire

/// Reports of the accounts that have joined the room and have not received its messages.
extension RelayRoom {
    /// Whether a scan is scheduled, until which the room stays in memory.
    @inline(__always)
    var isScanScheduled: Bool { scan.deadline != nil }

    /// Performs the scan that is due, and schedules the next one.
    mutating func scanUndelivered(after delay: Duration, now: Instant, into effects: inout Deque<RoomEffect>) {
        guard case .ready = state else { return }
        let hasJoined = allocatedMemberships.isAllocated && memberships.hasJoined
        guard let range = scan.step(lastOffset: log.lastOffset, delay: delay, hasJoined: hasJoined, now: now) else {
            return
        }
        let reports = undelivered(range)
        if !reports.isEmpty { effects.append(.undelivered(reports)) }
    }

    /// The reports about a range of offsets: the accounts in the order of their names, and the sender of the newest
    /// message apart, because its newest message is a different message.
    private func undelivered(_ range: ClosedRange<UInt64>) -> [UndeliveredReport] {
        let messages = MessagesInMemory(range, of: log.tail)
        var others: [UndeliveredReport.Recipient] = []
        var author: UndeliveredReport.Recipient?
        for account in memberships.joined.sorted() where mayEnter(account, .all) {
            let delivered = max(receipts[account]?.delivered ?? 0, range.lowerBound - 1)
            let count = messages.count(behind: delivered, notFrom: account)
            guard count > 0 else { continue }
            let recipient = UndeliveredReport.Recipient(account: account, count: count)
            if account == messages.newest?.sender { author = recipient } else { others.append(recipient) }
        }
        var reports: [UndeliveredReport] = []
        let newest = messages.newest.flatMap { UndeliveredMessage($0, in: name) }
        for start in stride(from: 0, to: others.count, by: UndeliveredReport.maxRecipientCount) {
            let part = others[start..<min(start + UndeliveredReport.maxRecipientCount, others.count)]
            reports.append(report(Array(part), range.upperBound, newest))
        }
        if let author {
            let delivered = receipts[author.account]?.delivered ?? 0
            let other = messages.newestOfOthers.flatMap { $0.offset > delivered ? $0 : nil }
            reports.append(report([author], range.upperBound, other.flatMap { UndeliveredMessage($0, in: name) }))
        }
        return reports
    }

    private func report(
        _ recipients: [UndeliveredReport.Recipient], _ lastOffset: UInt64, _ message: UndeliveredMessage?
    ) -> UndeliveredReport {
        UndeliveredReport(room: name, log: log.id, lastOffset: lastOffset, recipients: recipients, message: message)
    }
}

/// The messages of a range of offsets, as far as they are in memory.
private struct MessagesInMemory {
    private let lastOffset: UInt64
    /// The offsets of each account's messages, in their order.
    private var sent: [AccountName: [UInt64]] = [:]
    /// The last message; nil if it is not in memory.
    private(set) var newest: LogEntry?
    /// The last message of another account than that of the newest one.
    private(set) var newestOfOthers: LogEntry?

    init(_ range: ClosedRange<UInt64>, of tail: LogRows) {
        lastOffset = range.upperBound
        var offset = max(range.lowerBound, tail.first)
        while offset <= lastOffset, case let row = tail.row(from: offset), let last = row.last {
            for entry in row where entry.offset <= lastOffset {
                sent[entry.sender, default: []].append(entry.offset)
                if let newest, newest.sender != entry.sender { newestOfOthers = newest }
                newest = entry
            }
            offset = last.offset + 1
        }
    }

    /// The number of messages behind an offset that other accounts have published. A message that is not in memory
    /// counts as one of another account.
    func count(behind offset: UInt64, notFrom account: AccountName) -> UInt64 {
        guard offset < lastOffset else { return 0 }
        let own = sent[account]?.reversed().prefix { $0 > offset }.count ?? 0
        return lastOffset - offset - UInt64(own)
    }
}
