import MartletProtocol
import MartletWire

/// What became of a room's own messages, the latest of them: one small record each, in the order of their counters.
///
/// Delivered and read are not kept by message: a member's marks are cumulative, so how far each member is tells it of
/// every message whose offset is known. The oldest accepted messages are forgotten when there are more than
/// `maxRememberedMessages`.
struct SendLedger: Sendable {
    /// Messages remembered after they were accepted or failed.
    static let maxRememberedMessages = 4096
    /// Members whose marks are remembered; beyond it, who is least far is forgotten.
    static let maxMembers = 1024

    enum Phase: UInt8, Comparable, Sendable {
        case queued
        case sent
        case accepted
        case failed

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    struct Record: Sendable {
        let counter: UInt64
        var offset: UInt64 = 0
        let byteCount: UInt32
        var phase = Phase.queued
    }

    /// How far a member is.
    struct Progress: Sendable {
        let account: AccountName
        var delivered: UInt64 = 0
        var read: UInt64 = 0
    }

    private(set) var records = Deque<Record>()
    private var settledCount = 0
    private var failures: [UInt64: SendFailure] = [:]
    private(set) var progress: [Progress] = []
    private var progressIndex: [AccountName: Int] = [:]
    /// Changes with everything that an observer could want to know.
    private(set) var version: UInt64 = 0

    /// Messages that are neither accepted nor failed.
    var pendingCount: Int { records.count - settledCount }

    // MARK: What happens

    /// The client has given up: observers look again.
    mutating func noteChange() {
        version += 1
    }

    mutating func queue(_ counter: UInt64, byteCount: Int) {
        records.append(Record(counter: counter, byteCount: UInt32(clamping: byteCount)))
        while settledCount > Self.maxRememberedMessages, let oldest = records.first, oldest.phase >= .accepted {
            _ = records.popFirst()
            settledCount -= 1
            if oldest.phase == .failed { failures[oldest.counter] = nil }
        }
    }

    mutating func sent(_ counters: ClosedRange<UInt64>) {
        version += 1
        var index = firstIndex(notBelow: counters.lowerBound)
        while index < records.count, records[index].counter <= counters.upperBound {
            if records[index].phase == .queued { records[index].phase = .sent }
            index += 1
        }
    }

    /// Answers the bytes of each message that was waiting for this.
    mutating func accepted(_ run: AcceptedRun) -> [(counter: UInt64, byteCount: Int)] {
        version += 1
        var settled: [(counter: UInt64, byteCount: Int)] = []
        var index = firstIndex(notBelow: run.firstCounter)
        while index < records.count, run.counters.contains(records[index].counter) {
            if records[index].phase < .accepted {
                records[index].phase = .accepted
                // Nil: accepted before, and the relay no longer knows where.
                records[index].offset = run.offset(of: records[index].counter) ?? 0
                settled.append((records[index].counter, Int(records[index].byteCount)))
            }
            index += 1
        }
        settledCount += settled.count
        return settled
    }

    /// Answers the message's bytes when it was waiting.
    mutating func failed(_ counter: UInt64, _ failure: SendFailure) -> Int? {
        guard let index = index(of: counter), records[index].phase < .accepted else { return nil }
        version += 1
        records[index].phase = .failed
        failures[counter] = failure
        settledCount += 1
        return Int(records[index].byteCount)
    }

    /// A message that was never queued after all.
    mutating func withdraw(_ counter: UInt64) {
        _ = failed(counter, .cancelled)
    }

    /// False when it is nothing new.
    mutating func progressed(_ account: AccountName, _ mark: Receipt.Mark, upTo offset: UInt64) -> Bool {
        let index = index(of: account)
        let before = progress[index]
        progress[index].delivered = max(before.delivered, offset)
        if mark == .read { progress[index].read = max(before.read, offset) }
        guard progress[index].delivered != before.delivered || progress[index].read != before.read else {
            return false
        }
        version += 1
        return true
    }

    /// The relay has lost the log that the offsets are of: who is how far in the next says nothing about these
    /// messages.
    mutating func forgetOffsets() {
        version += 1
        for index in records.indices { records[index].offset = 0 }
        progress = []
        progressIndex = [:]
    }

    // MARK: What is known

    func record(of counter: UInt64) -> Record? {
        index(of: counter).map { records[$0] }
    }

    func failure(of counter: UInt64) -> SendFailure? { failures[counter] }

    private func index(of counter: UInt64) -> Int? {
        let index = firstIndex(notBelow: counter)
        return index < records.count && records[index].counter == counter ? index : nil
    }

    private func firstIndex(notBelow counter: UInt64) -> Int {
        var low = 0
        var high = records.count
        while low < high {
            let middle = (low + high) / 2
            if records[middle].counter < counter { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func index(of account: AccountName) -> Int {
        if let index = progressIndex[account] { return index }
        if progress.count >= Self.maxMembers, let least = progress.indices.min(by: { isLess($0, $1) }) {
            progressIndex[progress[least].account] = nil
            progress[least] = Progress(account: account)
            progressIndex[account] = least
            return least
        }
        progress.append(Progress(account: account))
        progressIndex[account] = progress.count - 1
        return progress.count - 1
    }

    private func isLess(_ left: Int, _ right: Int) -> Bool {
        (progress[left].read, progress[left].delivered) < (progress[right].read, progress[right].delivered)
    }
}
