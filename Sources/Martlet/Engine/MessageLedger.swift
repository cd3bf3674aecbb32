package import MartletLink
package import MartletWire

/// The messages that a client sends to one room, from the call that sends them until members have read them.
///
/// The ledger is the only owner of a message's state and content, and enforces the bounds of pending messages. The
/// engine, the application and the outbox refer to a message by its counter.
///
/// | state | content | entered by | left by |
/// |---|---|---|---|
/// | new | kept | `append` | `beginStoring`; `withdraw`, `failNew`: failed |
/// | storing | kept | `beginStoring` | `stored`; `fail`: failed |
/// | queued | kept, `edit` replaces it | `stored`, `restore` | `handedOver`; `cancel`, `expire`, `fail`: failed |
/// | handed over | kept: the next session sends it again | `handedOver`, `restore` | `accepted`; `refuse`, `failOutdated`, `fail`; `replaceDevice`: queued |
/// | accepted | discarded | `accepted`, `restore` | 4,096 later messages that are settled |
/// | failed | discarded | see above, `restore` | 4,096 later messages that are settled |
///
/// Messages are stored in the order of their counters. A pending message's state follows from five counters, up to
/// which messages are being stored, are stored, may be sent (*released*), were handed over, and belong to the current
/// session; each is at most the one before it when the restored messages have been reported as stored. A *sent* message
/// was handed over on an established connection. *Delivered* and *read* follow from an accepted message's offset and
/// from the receipts of each member, which are cumulative. An accepted or failed message is *settled*.
package struct MessageLedger: Sendable {
    /// The maximum number of settled messages that are kept.
    package static let maxSettledCount = 4096
    /// A message that has not been accepted.
    package struct Pending: Sendable {
        package let counter: UInt64
        package fileprivate(set) var content: MessageContent
        package let timeToLive: Duration?
        package let isCompressible: Bool
        /// The end of the time to live; nil until the message is stored.
        fileprivate(set) var expires: Instant?
    }

    private enum Outcome: Sendable {
        case accepted(offset: UInt64)
        case failed(SendFailure)
    }

    private enum Entry: Sendable {
        case pending(Pending)
        case settled(counter: UInt64, Outcome)

        var counter: UInt64 {
            switch self {
            case .pending(let message): message.counter
            case .settled(let counter, _): counter
            }
        }

        var pending: Pending? { if case .pending(let message) = self { message } else { nil } }
    }
    private let maxCount: Int
    private let maxByteCount: Int
    /// Messages in the order of their counters.
    private var entries = Deque<Entry>()
    /// The number of entries before the first pending one.
    private var settledPrefixCount = 0
    /// The number of pending messages, and of the bytes of their contents.
    package private(set) var pendingCount = 0
    package private(set) var pendingByteCount = 0
    private var lastCounter: UInt64 = 0
    private var storingUpTo: UInt64 = 0
    private var storedUpTo: UInt64 = 0
    private var releasedUpTo: UInt64 = 0
    /// The counter up to which only the relay decides about a message.
    private var handedUpTo: UInt64 = 0
    /// The counter up to which the messages were handed to the current session.
    private(set) var sessionUpTo: UInt64 = 0
    private var sentUpTo: UInt64 = 0
    private var resends = ResendWindow()
    /// The counter up to which the messages were handed to an earlier session, or belong to an earlier client.
    private var earlierUpTo: UInt64 = 0
    /// The counter up to which the messages may have been handed over by an earlier client.
    private var restoredUpTo: UInt64 = 0
    /// The pending messages whose counters the relay has taken for others.
    private var reused: Set<UInt64> = []
    /// The counter up to which messages have failed since the session began because they may not be published again.
    private var outdatedUpTo: UInt64 = 0
    private var marks = MemberMarks()
    /// The number of changes of states and receipts.
    package private(set) var version: UInt64 = 0

    /// Creates an empty ledger.
    ///
    /// - Parameters:
    ///   - maxCount: The maximum number of pending messages; less than 1 counts as 1.
    ///   - maxByteCount: The maximum number of bytes of pending contents.
    package init(maxCount: Int, maxByteCount: Int) {
        self.maxCount = max(maxCount, 1)
        self.maxByteCount = maxByteCount
    }

    // MARK: Queueing

    /// Returns whether a message with this size of content can be appended. Settled messages behind a pending one also
    /// have a bound.
    package func hasRoom(byteCount: Int) -> Bool {
        pendingCount < maxCount && pendingByteCount + byteCount <= maxByteCount
            && entries.count < maxCount + Self.maxSettledCount
    }

    /// Whether there is room for several messages. A ledger without pending messages has room for any of them.
    package func hasRoom(byteCounts: [Int]) -> Bool {
        pendingCount == 0
            || pendingCount + byteCounts.count <= maxCount
                && pendingByteCount + byteCounts.reduce(0, +) <= maxByteCount
                && entries.count + byteCounts.count <= maxCount + Self.maxSettledCount
    }

    /// Adds a message.
    ///
    /// - Throws: `queueFull`, `counterNotRising`.
    package mutating func append(
        counter: UInt64, _ content: MessageContent, timeToLive: Duration?, isCompressible: Bool
    ) throws(ClientError) {
        guard hasRoom(byteCount: content.byteCount) else { throw .queueFull }
        try appendAdmitted(counter: counter, content, timeToLive: timeToLive, isCompressible: isCompressible)
    }

    /// Adds a message for which ``hasRoom(byteCount:)`` or ``hasRoom(byteCounts:)`` was true. Several messages that
    /// were admitted together may exceed the bounds of one.
    ///
    /// - Throws: `counterNotRising`.
    package mutating func appendAdmitted(
        counter: UInt64, _ content: MessageContent, timeToLive: Duration?, isCompressible: Bool
    ) throws(ClientError) {
        guard counter > lastCounter else { throw .counterNotRising }
        add(counter, content, timeToLive, isCompressible)
    }

    /// Adds a message of an earlier client from the outbox. The bounds do not apply to it. A message whose counter does
    /// not rise is ignored.
    ///
    /// - Parameter resendableUntil: Not nil if an earlier client may have handed the message over. Only the relay then
    ///   decides about it and all messages before it, and they are not published again later.
    package mutating func restore(
        counter: UInt64, _ content: MessageContent, timeToLive: Duration?, isCompressible: Bool,
        resendableUntil: Instant? = nil
    ) {
        guard counter > lastCounter else { return }
        add(counter, content, timeToLive, isCompressible)
        storingUpTo = counter
        earlierUpTo = counter
        if let resendableUntil {
            handedUpTo = counter
            restoredUpTo = counter
            resends.add(counter, until: resendableUntil)
        }
    }

    /// Adds the outcome of a message of an earlier client. Returns false if its counter does not rise.
    @discardableResult
    package mutating func restore(counter: UInt64, acceptedAt offset: UInt64) -> Bool {
        restore(counter, .accepted(offset: offset))
    }

    /// Adds the failure of a message of an earlier client. Returns false if its counter does not rise.
    @discardableResult
    package mutating func restore(counter: UInt64, failedWith failure: SendFailure) -> Bool {
        restore(counter, .failed(failure))
    }

    private mutating func restore(_ counter: UInt64, _ outcome: Outcome) -> Bool {
        guard counter > lastCounter else { return false }
        lastCounter = counter
        storingUpTo = counter
        entries.append(.settled(counter: counter, outcome))
        discardOldest()
        return true
    }

    private mutating func add(
        _ counter: UInt64, _ content: MessageContent, _ timeToLive: Duration?, _ isCompressible: Bool
    ) {
        lastCounter = counter
        pendingCount += 1
        pendingByteCount += content.byteCount
        entries.append(
            .pending(
                Pending(counter: counter, content: content, timeToLive: timeToLive, isCompressible: isCompressible)))
    }

    /// Fails a new message with `cancelled`. Returns false if the outbox has begun to store it.
    package mutating func withdraw(_ counter: UInt64) -> Bool {
        counter > storingUpTo && fail(counter, .cancelled)
    }

    /// Fails all new messages with `closed`.
    package mutating func failNew() {
        _ = fail(.closed, from: storingUpTo + 1, to: lastCounter)
    }

    // MARK: Storing

    /// Begins to store all new messages, and returns them in order.
    package mutating func beginStoring() -> [Pending] {
        guard storingUpTo < lastCounter else { return [] }
        defer { storingUpTo = lastCounter }
        return (index(from: storingUpTo + 1)..<entries.count).compactMap { entries[$0].pending }
    }

    /// Reports that the outbox has stored the messages up to a counter, and that those up to `released` may be sent, or
    /// all of them if it is nil. Their time to live begins. Returns whether one of them has a time to live.
    mutating func stored(upTo counter: UInt64, releasedUpTo released: UInt64? = nil, now: Instant) -> Bool {
        var expires = false
        var index = index(from: storedUpTo + 1)
        while index < entries.count, entries[index].counter <= counter {
            if var message = entries[index].pending, let timeToLive = message.timeToLive {
                message.expires = now + timeToLive
                entries[index] = .pending(message)
                expires = true
            }
            index += 1
        }
        storedUpTo = max(storedUpTo, counter)
        storingUpTo = max(storingUpTo, counter)
        releasedUpTo = max(releasedUpTo, min(released ?? counter, storedUpTo))
        return expires
    }

    /// Replaces the content of a message that was not handed over. Returns the earlier content; nil if there is no
    /// such message.
    package mutating func edit(_ counter: UInt64, _ content: MessageContent) -> MessageContent? {
        let index = index(from: counter)
        guard counter > handedUpTo, index < entries.count, entries[index].counter == counter,
            var message = entries[index].pending
        else { return nil }
        let earlier = message.content
        pendingByteCount += content.byteCount - earlier.byteCount
        message.content = content
        entries[index] = .pending(message)
        return earlier
    }

    // MARK: Sending

    /// Returns the released messages that were not handed to the current session, in order, until their contents have
    /// at least `byteCount` bytes.
    ///
    /// - Parameter onlyHandedOver: Whether messages are left out that were never handed over.
    func unsent(byteCount: Int, onlyHandedOver: Bool = false) -> [Pending] {
        var messages: [Pending] = []
        var rest = byteCount
        var index = index(from: sessionUpTo + 1)
        let last = onlyHandedOver ? min(handedUpTo, releasedUpTo) : releasedUpTo
        while rest > 0, index < entries.count, entries[index].counter <= last {
            if let message = entries[index].pending {
                messages.append(message)
                rest -= message.content.byteCount
            }
            index += 1
        }
        return messages
    }

    /// Reports that the messages up to a counter were handed to the current session.
    mutating func handedOver(upTo counter: UInt64, now: Instant) {
        assert(counter <= releasedUpTo, "a message is released before it is sent")
        sessionUpTo = counter
        if counter > handedUpTo { resends.handedOver(upTo: counter, now: now) }
        handedUpTo = max(handedUpTo, counter)
    }

    /// Fails the messages of earlier sessions that may not be published again. Returns their counters (R-21, C-80).
    mutating func failOutdated(now: Instant) -> [UInt64] {
        let end = resends.endedUpTo(now: now)
        guard end > max(sessionUpTo, outdatedUpTo) else { return [] }
        outdatedUpTo = end
        return fail(.outcomeUnknown, from: sessionUpTo + 1, to: end)
    }

    /// Ends the current session. All pending messages are handed to the next one.
    mutating func endSession() {
        earlierUpTo = max(earlierUpTo, handedUpTo)
        sessionUpTo = 0
        outdatedUpTo = 0
    }

    /// Returns the counters that were handed over and have not been reported as sent; nil if there are none.
    mutating func reportSent() -> ClosedRange<UInt64>? {
        guard sessionUpTo > sentUpTo else { return nil }
        let first = index(from: sentUpTo + 1)
        guard first < entries.count, entries[first].counter <= sessionUpTo else { return nil }
        defer { sentUpTo = sessionUpTo }
        version += 1
        return entries[first].counter...sessionUpTo
    }

    /// Fails a message that was not handed over. Returns false if there is no such message.
    mutating func cancel(_ counter: UInt64) -> Bool {
        counter > handedUpTo && fail(counter, .cancelled)
    }

    /// Fails the messages that were not handed over and whose time to live has ended. Returns their counters.
    mutating func expire(now: Instant) -> [UInt64] {
        let expired = notHandedOver.filter { $0.expires.map { $0 <= now } ?? false }.map(\.counter)
        for counter in expired { _ = fail(counter, .expired) }
        return expired
    }

    /// The earliest end of a time to live of the messages that were not handed over.
    var earliestExpiry: Instant? { notHandedOver.compactMap(\.expires).min() }

    private var notHandedOver: some Sequence<Pending> {
        (index(from: handedUpTo + 1)..<entries.count).lazy.compactMap { entries[$0].pending }
    }

    // MARK: Outcomes

    /// Reports that the relay has accepted the messages of a run. Returns the parts of the run that were pending.
    ///
    /// A relay can repeat a run, and a run can contain counters that were never sent. A message that was first handed
    /// to the current session follows the head of this session. An offset up to the head, or an unknown one, is that of
    /// another message with the same counter.
    ///
    /// - Parameter head: The last offset when the session was admitted; 0 for an empty log.
    mutating func accepted(_ run: AcceptedRun, head: UInt64 = 0) -> [AcceptedRun] {
        var parts: [AcceptedRun] = []
        var index = index(from: run.firstCounter)
        while index < entries.count, case let counter = entries[index].counter, run.counters.contains(counter),
            counter <= handedUpTo
        {
            if entries[index].pending != nil {
                let offset = run.offset(of: counter) ?? 0
                guard !reused.contains(counter), counter <= earlierUpTo || offset > head else {
                    reused.insert(counter)
                    index += 1
                    continue
                }
                settle(index, .accepted(offset: offset))
                if let last = parts.last, last.counters.upperBound + 1 == counter {
                    parts[parts.count - 1] = AcceptedRun(
                        firstCounter: last.firstCounter, count: last.count + 1, firstOffset: last.firstOffset)
                } else {
                    parts.append(AcceptedRun(firstCounter: counter, count: 1, firstOffset: offset))
                }
            }
            index += 1
        }
        discardOldest()
        return parts
    }

    /// Whether the highest counter that the relay has taken from this device is none of its own, although it is above
    /// that of a pending message: messages are handed over in the order of their counters. The answer of the relay to
    /// those below its window would then be that of another message.
    mutating func isSetBack(below counter: UInt64) -> Bool {
        guard state(of: counter) == nil else { return false }
        let found = pendingCounters.filter {
            $0 > restoredUpTo && counter > $0 && counter &- $0 >= CounterWindow.count
        }
        reused.formUnion(found)
        return !found.isEmpty
    }

    /// Reports that the relay has refused a message. Returns false if it was not handed over or is settled, or if its
    /// counter belongs to another message.
    mutating func refuse(_ counter: UInt64, _ failure: SendFailure) -> Bool {
        counter <= handedUpTo && !reused.contains(counter) && fail(counter, failure)
    }

    /// Reports that the relay has taken the counter of a message for another message. Returns false if the message was
    /// not handed over or is settled.
    mutating func noteReused(_ counter: UInt64) -> Bool {
        guard counter <= handedUpTo, content(of: counter) != nil else { return false }
        reused.insert(counter)
        return true
    }

    /// Whether the relay has taken counters of pending messages for others.
    var hasReused: Bool { !reused.isEmpty }

    /// Whether a message was handed over and has no answer.
    var awaitsAnswers: Bool {
        entries.contains { entry in
            guard let message = entry.pending else { return false }
            return message.counter <= handedUpTo && !reused.contains(message.counter)
        }
    }

    /// The pending messages belong to another device from now on, which has not handed over any of them.
    mutating func replaceDevice() {
        endSession()
        (handedUpTo, earlierUpTo, restoredUpTo) = (0, 0, 0)
        reused = []
        resends.removeAll()
        version += 1
    }

    /// The counters of all settled messages, in ascending order.
    package var settledCounters: [UInt64] { entries.compactMap { $0.pending == nil ? $0.counter : nil } }

    /// Fails a message. Returns false if it is unknown or settled.
    package mutating func fail(_ counter: UInt64, _ failure: SendFailure) -> Bool {
        !fail(failure, from: counter, to: counter).isEmpty
    }

    /// Fails all pending messages, because the room ends. The relay may have accepted those that were published, unless
    /// it has refused their session, as it has the current one unless `isOpen` (C-74). A room that lacks a session is
    /// opened again later.
    mutating func failAll(_ failure: SendFailure, isOpen: Bool) -> [(counter: UInt64, failure: SendFailure)] {
        var publishedUpTo = isOpen ? handedUpTo : min(handedUpTo, earlierUpTo)
        if failure == .refused(.tooManySessions, reason: nil) { publishedUpTo = 0 }
        let unknown = fail(.outcomeUnknown, from: 0, to: publishedUpTo).map { ($0, SendFailure.outcomeUnknown) }
        return unknown + fail(failure, from: publishedUpTo + 1, to: lastCounter).map { ($0, failure) }
    }

    private mutating func fail(_ failure: SendFailure, from first: UInt64, to last: UInt64) -> [UInt64] {
        var failed: [UInt64] = []
        var index = index(from: first)
        while index < entries.count, entries[index].counter <= last {
            if entries[index].pending != nil {
                failed.append(entries[index].counter)
                settle(index, .failed(failure))
            }
            index += 1
        }
        discardOldest()
        return failed
    }

    private mutating func settle(_ index: Int, _ outcome: Outcome) {
        guard let message = entries[index].pending else { return }
        version += 1
        pendingCount -= 1
        pendingByteCount -= message.content.byteCount
        if !reused.isEmpty { reused.remove(message.counter) }
        entries[index] = .settled(counter: message.counter, outcome)
        if pendingCount == 0 { resends.removeAll() }
    }

    /// Discards the oldest settled entries. Settled entries behind a pending one remain until it is settled.
    private mutating func discardOldest() {
        while settledPrefixCount < entries.count, entries[settledPrefixCount].pending == nil { settledPrefixCount += 1 }
        while settledPrefixCount > Self.maxSettledCount {
            _ = entries.popFirst()
            settledPrefixCount -= 1
        }
    }

    // MARK: Receipts

    package var progress: [Progress] { marks.all }

    /// Reports that a member has received or read all messages up to an offset. Returns false if that is known.
    mutating func progressed(_ account: AccountName, _ mark: Receipt.Mark, upTo offset: UInt64) -> Bool {
        guard marks.raise(account, mark, upTo: offset) else { return false }
        version += 1
        return true
    }

    /// Discards the offsets beyond one, and the receipts, because the relay has lost their log.
    mutating func discardOffsets(above kept: UInt64 = 0) {
        version += 1
        for index in entries.indices {
            if case .settled(let counter, .accepted(let offset)) = entries[index], offset > kept {
                entries[index] = .settled(counter: counter, .accepted(offset: 0))
            }
        }
        marks = MemberMarks()
    }

    // MARK: States

    /// Returns the state of a message; nil if the ledger does not contain it.
    package func state(of counter: UInt64) -> State? {
        let index = index(from: counter)
        guard index < entries.count, entries[index].counter == counter else { return nil }
        switch entries[index] {
        case .pending: return counter <= sentUpTo ? .sent : .queued
        case .settled(_, .accepted(let offset)): return .accepted(offset: offset)
        case .settled(_, .failed(let failure)): return .failed(failure)
        }
    }

    /// Returns the content of a pending message; nil if there is no such message.
    package func content(of counter: UInt64) -> MessageContent? {
        let index = index(from: counter)
        guard index < entries.count, entries[index].counter == counter else { return nil }
        return entries[index].pending?.content
    }

    /// The counters of all pending messages, in ascending order.
    package var pendingCounters: [UInt64] { entries.compactMap { $0.pending?.counter } }

    /// The number of entries, settled ones included.
    var count: Int { entries.count }

    /// Returns the index of the first entry whose counter is not below the given one.
    private func index(from counter: UInt64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].counter < counter { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
