import MartletLink
import MartletWire

/// The messages that an application sends to one room, from the call that sends them until members have read them.
///
/// The application's threads read the states here, and add messages within the bounds of those that have no outcome.
/// From the event that the outbox has stored a message, the engine decides about it: its outputs change the state here,
/// and the content is a copy.
///
/// | state | owns | entered by | left by |
/// |---|---|---|---|
/// | new | the message | `append` | `beginStoring`; `withdraw`, `failUnstored`: failed |
/// | storing | the message | `beginStoring` | `stored`; `fail`, `failUnstored`: failed |
/// | queued | a copy of the content | `stored`, `restore` | `sent`, `accepted`, `fail` |
/// | sent | a copy of the content | `sent` | `accepted`, `fail` |
/// | accepted, failed | nothing | see above, `restore` | 4,096 later messages with an outcome |
///
/// *Delivered* and *read* follow from an accepted message's offset and from the receipts of each member, which are
/// cumulative. A message is *pending* until it is accepted or has failed.
struct OutgoingMessages: Sendable {
    /// The maximum number of messages with an outcome that are kept.
    static let maxSettledCount = 4096

    /// The state of a message, as its observers see it.
    enum State: Equatable, Sendable {
        case queued
        case sent
        /// The offset is 0 if the relay no longer knows it.
        case accepted(offset: UInt64)
        case failed(SendFailure)
    }

    private enum Entry: Sendable {
        case unstored(MessageLedger.Pending)
        case stored(counter: UInt64, MessageContent)
        case settled(counter: UInt64, OutboxOutcome.Result)

        var counter: UInt64 {
            switch self {
            case .unstored(let message): message.counter
            case .stored(let counter, _), .settled(let counter, _): counter
            }
        }

        /// The content of a pending message.
        var content: MessageContent? {
            switch self {
            case .unstored(let message): message.content
            case .stored(_, let content): content
            case .settled: nil
            }
        }

        var unstored: MessageLedger.Pending? { if case .unstored(let message) = self { message } else { nil } }
        var isSettled: Bool { if case .settled = self { true } else { false } }
    }

    private let maxCount: Int
    private let maxByteCount: Int
    /// Messages in the order of their counters.
    private var entries = Deque<Entry>()
    /// The number of entries before the first pending one.
    private var settledPrefixCount = 0
    /// The number of pending messages, and of the bytes of their contents.
    private(set) var pendingCount = 0
    private(set) var pendingByteCount = 0
    private var lastCounter: UInt64 = 0
    /// The counter up to which messages are not new.
    private var storingUpTo: UInt64 = 0
    private var sentUpTo: UInt64 = 0
    private var marks = MemberMarks()
    /// The number of changes of states and receipts.
    private(set) var version: UInt64 = 0

    /// - Parameters:
    ///   - maxCount: The maximum number of pending messages; less than 1 counts as 1.
    ///   - maxByteCount: The maximum number of bytes of their contents.
    init(maxCount: Int, maxByteCount: Int) {
        self.maxCount = max(maxCount, 1)
        self.maxByteCount = maxByteCount
    }

    // MARK: Adding

    /// Whether a message with this size of content can be added. Settled messages behind a pending one also have a
    /// bound.
    func hasRoom(byteCount: Int) -> Bool {
        pendingCount < maxCount && pendingByteCount + byteCount <= maxByteCount
            && entries.count < maxCount + Self.maxSettledCount
    }

    /// Whether there is room for several messages. Without pending messages there is room for any of them.
    func hasRoom(byteCounts: [Int]) -> Bool {
        pendingCount == 0
            || pendingCount + byteCounts.count <= maxCount
                && pendingByteCount + byteCounts.reduce(0, +) <= maxByteCount
                && entries.count + byteCounts.count <= maxCount + Self.maxSettledCount
    }

    /// Adds a message for which there is room. Several messages that were admitted together may exceed the bounds of
    /// one.
    ///
    /// - Precondition: The counter is above all others.
    mutating func append(_ message: MessageLedger.Pending) {
        precondition(message.counter > lastCounter, "the counters of a room rise")
        add(.unstored(message))
    }

    /// Adds a message of an earlier client from the outbox. The bounds do not apply to it. A message whose counter does
    /// not rise is ignored.
    mutating func restore(_ counter: UInt64, _ content: MessageContent) {
        guard counter > lastCounter else { return }
        add(.stored(counter: counter, content))
        storingUpTo = counter
    }

    /// Adds the outcome of a message of an earlier client. One whose counter does not rise is ignored.
    mutating func restore(_ counter: UInt64, _ outcome: OutboxOutcome.Result) {
        guard counter > lastCounter else { return }
        add(.settled(counter: counter, outcome))
        storingUpTo = counter
        discardOldest()
    }

    private mutating func add(_ entry: Entry) {
        lastCounter = entry.counter
        if let content = entry.content {
            pendingCount += 1
            pendingByteCount += content.byteCount
        }
        entries.append(entry)
    }

    // MARK: Storing

    /// Begins to store all new messages, and returns them in order.
    mutating func beginStoring() -> [MessageLedger.Pending] {
        guard storingUpTo < lastCounter else { return [] }
        defer { storingUpTo = lastCounter }
        return (firstIndex(from: storingUpTo + 1)..<entries.count).compactMap { entries[$0].unstored }
    }

    /// Reports that the outbox has stored messages. Returns those that have not failed meanwhile, for the engine.
    mutating func stored(_ counters: [UInt64]) -> [MessageLedger.Pending] {
        counters.compactMap { counter in
            guard let index = index(of: counter), let message = entries[index].unstored else { return nil }
            entries[index] = .stored(counter: counter, message.content)
            return message
        }
    }

    /// Whether the message is new or being stored, so that the engine does not know it.
    func isUnstored(_ counter: UInt64) -> Bool { index(of: counter).map { entries[$0].unstored != nil } ?? false }

    /// Replaces the content of a pending message. Returns the earlier content; nil if there is no such message.
    mutating func edit(_ counter: UInt64, _ content: MessageContent) -> MessageContent? {
        guard let index = index(of: counter), let earlier = entries[index].content else { return nil }
        pendingByteCount += content.byteCount - earlier.byteCount
        if var message = entries[index].unstored {
            message.content = content
            entries[index] = .unstored(message)
        } else {
            entries[index] = .stored(counter: counter, content)
        }
        return earlier
    }

    /// Fails a new message with `cancelled`. Returns false if the outbox has begun to store it.
    mutating func withdraw(_ counter: UInt64) -> Bool { counter > storingUpTo && fail(counter, .cancelled) }

    /// Fails all new messages, and those that are being stored unless `onlyNew`. Returns their counters.
    mutating func failUnstored(_ failure: SendFailure, onlyNew: Bool = false) -> [UInt64] {
        var failed: [UInt64] = []
        for index in (onlyNew ? firstIndex(from: storingUpTo + 1) : settledPrefixCount)..<entries.count {
            guard let message = entries[index].unstored else { continue }
            failed.append(message.counter)
            settle(index, .failed(failure))
        }
        discardOldest()
        return failed
    }

    // MARK: States

    /// Reports that the messages up to a counter were written to a connection.
    mutating func sent(upTo counter: UInt64) {
        sentUpTo = max(sentUpTo, counter)
        version += 1
    }

    /// Reports that the relay has accepted the messages of a run.
    mutating func accepted(_ run: AcceptedRun) {
        var index = firstIndex(from: run.firstCounter)
        while index < entries.count, case let counter = entries[index].counter, run.counters.contains(counter) {
            settle(index, .accepted(offset: run.offset(of: counter) ?? 0))
            index += 1
        }
        discardOldest()
    }

    /// Reports that a message has failed. Returns false if it is unknown or has an outcome.
    @discardableResult
    mutating func fail(_ counter: UInt64, _ failure: SendFailure) -> Bool {
        guard let index = index(of: counter), !entries[index].isSettled else { return false }
        settle(index, .failed(failure))
        discardOldest()
        return true
    }

    private mutating func settle(_ index: Int, _ outcome: OutboxOutcome.Result) {
        guard let content = entries[index].content else { return }
        version += 1
        pendingCount -= 1
        pendingByteCount -= content.byteCount
        entries[index] = .settled(counter: entries[index].counter, outcome)
    }

    /// Discards the oldest settled entries. Settled entries behind a pending one remain until it is settled.
    private mutating func discardOldest() {
        while settledPrefixCount < entries.count, entries[settledPrefixCount].isSettled { settledPrefixCount += 1 }
        while settledPrefixCount > Self.maxSettledCount {
            _ = entries.popFirst()
            settledPrefixCount -= 1
        }
    }

    /// Returns the state of a message; nil if it is not kept.
    func state(of counter: UInt64) -> State? {
        guard let index = index(of: counter) else { return nil }
        switch entries[index] {
        case .unstored, .stored: return counter <= sentUpTo ? .sent : .queued
        case .settled(_, .accepted(let offset)): return .accepted(offset: offset)
        case .settled(_, .failed(let failure)): return .failed(failure)
        }
    }

    /// Returns the content of a pending message; nil if there is no such message.
    func content(of counter: UInt64) -> MessageContent? { index(of: counter).flatMap { entries[$0].content } }

    /// The counters of all pending messages, in ascending order.
    var pendingCounters: [UInt64] { entries.compactMap { $0.isSettled ? nil : $0.counter } }

    /// The counters of all settled messages, in ascending order.
    var settledCounters: [UInt64] { entries.compactMap { $0.isSettled ? $0.counter : nil } }

    /// The number of messages that are kept.
    var count: Int { entries.count }

    // MARK: The log

    var progress: [MemberMarks.Progress] { marks.all }

    /// Reports that a member has received or read all messages up to an offset.
    mutating func progressed(_ account: AccountName, _ mark: Receipt.Mark, upTo offset: UInt64) {
        if marks.raise(account, mark, upTo: offset) { version += 1 }
    }

    /// Discards the offsets beyond one, and the receipts, because the relay has lost their log.
    mutating func discardOffsets(above kept: UInt64) {
        version += 1
        for index in entries.indices {
            if case .settled(let counter, .accepted(let offset)) = entries[index], offset > kept {
                entries[index] = .settled(counter: counter, .accepted(offset: 0))
            }
        }
        marks = MemberMarks()
    }

    /// Reports that the pending messages belong to another device.
    mutating func deviceReplaced() { version += 1 }

    private func index(of counter: UInt64) -> Int? {
        let index = firstIndex(from: counter)
        return index < entries.count && entries[index].counter == counter ? index : nil
    }

    /// Returns the index of the first entry whose counter is not below the given one.
    private func firstIndex(from counter: UInt64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].counter < counter { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
