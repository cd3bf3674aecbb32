import MartletLink
import MartletMetrics
package import MartletWire

/// The stored messages that a client sends to one room, until they have an outcome.
///
/// The ledger decides about the state of a message from the event that the outbox has stored it. Each change of a state
/// is an output of the engine. The counters of messages with an outcome are kept behind a pending message only.
///
/// | state | content | entered by | left by |
/// |---|---|---|---|
/// | queued | kept, `edit` replaces it | `add`, `restore` | `handedOver`; `cancel`, `expire`, `fail`: settled |
/// | handed over | kept: the next session sends it again | `handedOver`, `restore` | `accepted`, `refuse`, `failOutdated`, `fail`: settled; `replaceDevice`: queued |
/// | settled | discarded | see above, `restore` | the messages before it are settled |
///
/// Messages are added in the order of their counters. A pending message's state follows from three counters, up to
/// which messages may be sent (*released*), were handed over, and belong to the current session; each is at most the
/// one before it when the restored messages are released. A *sent* message was handed over on an established
/// connection.
package struct MessageLedger: Sendable {
    /// A message without an outcome.
    package struct Pending: Sendable {
        package let counter: UInt64
        package var content: MessageContent
        package let timeToLive: Duration?
        package let isCompressible: Bool
        /// The end of the time to live, which begins when the message is stored.
        fileprivate(set) var expires: Instant?
        /// The instant at which the message was stored, or restored.
        fileprivate(set) var storedAt = Instant.zero

        package init(
            counter: UInt64, _ content: MessageContent, timeToLive: Duration? = nil, isCompressible: Bool = true
        ) {
            self.counter = counter
            self.content = content
            self.timeToLive = timeToLive
            self.isCompressible = isCompressible
        }
    }

    /// A message of an earlier client from the outbox.
    package enum Restored: Sendable {
        /// An earlier client may have handed a message in flight over.
        case pending(Pending, isInFlight: Bool)
        /// The message has an outcome.
        case settled(counter: UInt64)
    }

    private enum Entry: Sendable {
        case pending(Pending)
        case settled(counter: UInt64)

        var counter: UInt64 {
            switch self {
            case .pending(let message): message.counter
            case .settled(let counter): counter
            }
        }

        var pending: Pending? { if case .pending(let message) = self { message } else { nil } }
    }

    /// Messages in the order of their counters. The first one is pending.
    private var entries = Deque<Entry>()
    /// The number of pending messages.
    private(set) var pendingCount = 0
    private(set) var lastCounter: UInt64 = 0
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
    /// The accepted messages of the session that no member has received, in the order of their offsets.
    private var undelivered = Deque<(offset: UInt64, storedAt: Instant)>()

    /// The maximum number of accepted messages whose delivery is measured. The oldest are left out beyond it.
    static let maxUndeliveredCount = 256

    // MARK: Storing

    /// Adds a message that the outbox has stored. Its time to live begins. Returns false if its counter does not rise.
    mutating func add(_ message: Pending, now: Instant) -> Bool {
        guard message.counter > lastCounter else { return false }
        lastCounter = message.counter
        var message = message
        message.expires = message.timeToLive.map { now + $0 }
        message.storedAt = now
        pendingCount += 1
        entries.append(.pending(message))
        return true
    }

    /// Adds a message of an earlier client, unless its counter does not rise. Only the relay decides about one that may
    /// have been handed over, and about all messages before it. They are not published again later.
    mutating func restore(_ restored: Restored, now: Instant) {
        switch restored {
        case .pending(let message, let isInFlight):
            guard add(message, now: now) else { return }
            earlierUpTo = message.counter
            guard isInFlight else { return }
            handedUpTo = message.counter
            restoredUpTo = message.counter
            resends.add(message.counter, until: ResendWindow.end(ofEarlier: now))
        case .settled(let counter):
            guard counter > lastCounter else { return }
            lastCounter = counter
            if !entries.isEmpty { entries.append(.settled(counter: counter)) }
        }
    }

    /// Reports that the messages up to a counter may be sent.
    mutating func release(upTo counter: UInt64) { releasedUpTo = max(releasedUpTo, min(counter, lastCounter)) }

    /// Replaces the content of a message that was not handed over. Returns false if there is no such message.
    mutating func edit(_ counter: UInt64, _ content: MessageContent) -> Bool {
        let index = index(from: counter)
        guard counter > handedUpTo, index < entries.count, entries[index].counter == counter,
            var message = entries[index].pending
        else { return false }
        message.content = content
        entries[index] = .pending(message)
        return true
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

    /// Whether a message was handed over, so that only the relay decides about it.
    func wasHandedOver(_ counter: UInt64) -> Bool { counter <= handedUpTo }

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
        return fail(from: sessionUpTo + 1, to: end)
    }

    /// Fails the messages that were handed to the current session only, and that exceed the limits of its server, which
    /// has not taken them. Returns their counters.
    mutating func failFirstHandedOver(beyond limits: Limits) -> [UInt64] {
        var refused: [UInt64] = []
        var index = index(from: earlierUpTo + 1)
        while index < entries.count, entries[index].counter <= sessionUpTo {
            if let message = entries[index].pending, !ClientRooms.fits(message.content.byteCount, limits) {
                refused.append(message.counter)
            }
            index += 1
        }
        for counter in refused { _ = fail(counter) }
        return refused
    }

    /// Ends the current session. All pending messages are handed to the next one.
    mutating func endSession() {
        earlierUpTo = max(earlierUpTo, handedUpTo)
        sessionUpTo = 0
        outdatedUpTo = 0
        undelivered.removeAll()
    }

    /// Returns the counters that were handed over and have not been reported as sent; nil if there are none.
    mutating func reportSent() -> ClosedRange<UInt64>? {
        guard sessionUpTo > sentUpTo else { return nil }
        let first = index(from: sentUpTo + 1)
        guard first < entries.count, entries[first].counter <= sessionUpTo else { return nil }
        defer { sentUpTo = sessionUpTo }
        return entries[first].counter...sessionUpTo
    }

    /// Fails a message that was not handed over. Returns false if there is no such message.
    mutating func cancel(_ counter: UInt64) -> Bool {
        counter > handedUpTo && fail(counter)
    }

    /// Fails the messages that were not handed over and whose time to live has ended. Returns their counters.
    mutating func expire(now: Instant) -> [UInt64] {
        let expired = notHandedOver.filter { $0.expires.map { $0 <= now } ?? false }.map(\.counter)
        for counter in expired { _ = fail(counter) }
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
    /// - Parameters:
    ///   - head: The last offset when the session was admitted; 0 for an empty log.
    ///   - now: The current instant, with which the duration until the acceptance is measured.
    ///   - durations: Receives the duration of each message.
    mutating func accepted(
        _ run: AcceptedRun, head: UInt64 = 0, now: Instant, _ durations: inout Histogram
    ) -> [AcceptedRun] {
        var parts: [AcceptedRun] = []
        var index = index(from: run.firstCounter)
        while index < entries.count, case let counter = entries[index].counter, run.counters.contains(counter),
            counter <= handedUpTo
        {
            if let message = entries[index].pending {
                let offset = run.offset(of: counter) ?? 0
                guard !reused.contains(counter), counter <= earlierUpTo || offset > head else {
                    reused.insert(counter)
                    index += 1
                    continue
                }
                durations.record(nanoseconds: now.nanoseconds - min(message.storedAt.nanoseconds, now.nanoseconds))
                if offset > undelivered.last?.offset ?? 0 {
                    if undelivered.count == Self.maxUndeliveredCount { _ = undelivered.popFirst() }
                    undelivered.append((offset, message.storedAt))
                }
                settle(index)
                if let last = parts.last, last.counters.upperBound + 1 == counter {
                    parts[parts.count - 1] = AcceptedRun(
                        firstCounter: last.firstCounter, count: last.count + 1, firstOffset: last.firstOffset)
                } else {
                    parts.append(AcceptedRun(firstCounter: counter, count: 1, firstOffset: offset))
                }
            }
            index += 1
        }
        discardSettled()
        return parts
    }

    /// A member has received the messages up to an offset.
    ///
    /// - Parameter durations: Receives the durations since the storage of those that no other member had received.
    mutating func delivered(upTo offset: UInt64, now: Instant, _ durations: inout Histogram) {
        while let first = undelivered.first, first.offset <= offset {
            _ = undelivered.popFirst()
            durations.record(nanoseconds: now.nanoseconds - min(first.storedAt.nanoseconds, now.nanoseconds))
        }
    }

    /// Whether the highest counter that the relay has taken from this device is none of its own, although it is above
    /// that of a pending message: messages are handed over in the order of their counters. The answer of the relay to
    /// those below its window would then be that of another message.
    mutating func isSetBack(below counter: UInt64) -> Bool {
        let index = index(from: counter)
        guard index == entries.count || entries[index].counter != counter else { return false }
        let found = pendingCounters.filter {
            $0 > restoredUpTo && counter > $0 && counter &- $0 >= CounterWindow.count
        }
        reused.formUnion(found)
        return !found.isEmpty
    }

    /// Reports that the relay has refused a message. Returns false if it was not handed over or is settled, or if its
    /// counter belongs to another message.
    mutating func refuse(_ counter: UInt64) -> Bool {
        counter <= handedUpTo && !reused.contains(counter) && fail(counter)
    }

    /// Reports that the relay has taken the counter of a message for another message. Returns false if the message was
    /// not handed over or is settled.
    mutating func noteReused(_ counter: UInt64) -> Bool {
        guard counter <= handedUpTo, isPending(counter) else { return false }
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
    }

    /// Settles a message that has failed. Returns false if it is unknown or settled.
    mutating func fail(_ counter: UInt64) -> Bool { !fail(from: counter, to: counter).isEmpty }

    /// Fails all pending messages, because the room ends. The relay may have accepted those that were published, unless
    /// it has refused their session, as it has the current one unless `isOpen` (C-74). A room that lacks a session is
    /// opened again later.
    mutating func failAll(_ failure: SendFailure, isOpen: Bool) -> [(counter: UInt64, failure: SendFailure)] {
        var publishedUpTo = isOpen ? handedUpTo : min(handedUpTo, earlierUpTo)
        if failure == .refused(.tooManySessions, reason: nil) { publishedUpTo = 0 }
        let unknown = fail(from: 0, to: publishedUpTo).map { ($0, SendFailure.outcomeUnknown) }
        return unknown + fail(from: publishedUpTo + 1, to: lastCounter).map { ($0, failure) }
    }

    private mutating func fail(from first: UInt64, to last: UInt64) -> [UInt64] {
        var failed: [UInt64] = []
        var index = index(from: first)
        while index < entries.count, entries[index].counter <= last {
            if entries[index].pending != nil {
                failed.append(entries[index].counter)
                settle(index)
            }
            index += 1
        }
        discardSettled()
        return failed
    }

    private mutating func settle(_ index: Int) {
        guard let message = entries[index].pending else { return }
        pendingCount -= 1
        if !reused.isEmpty { reused.remove(message.counter) }
        entries[index] = .settled(counter: message.counter)
        if pendingCount == 0 { resends.removeAll() }
    }

    /// Discards the settled entries before the first pending one.
    private mutating func discardSettled() {
        while let first = entries.first, first.pending == nil { _ = entries.popFirst() }
    }

    // MARK: Entries

    private func isPending(_ counter: UInt64) -> Bool {
        let index = index(from: counter)
        return index < entries.count && entries[index].counter == counter && entries[index].pending != nil
    }

    /// The counters of all pending messages, in ascending order.
    var pendingCounters: [UInt64] { entries.compactMap { $0.pending?.counter } }

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
