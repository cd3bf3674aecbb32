import MartletLink
import MartletWire

/// The messages of a room that are not durable, and the sessions that wait for them.
///
/// The store has one batch at a time. The messages that are published meanwhile make up the next one (group commit).
///
/// | state of a message | owns | ends |
/// |---|---|---|
/// | unstored | an entry, a count of its part, pending bytes | `startStoring` |
/// | storing | the same | `confirmNext`, when it is durable; `discard`, when the store has failed; `takeWaiting`, when other relays have appended messages before it |
struct Publication: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<Publication>()
    /// Bytes of bodies that are not durable, beyond which a room accepts no more.
    static let maxPendingByteCount = 16 * 1024 * 1024
    /// Deletions that are not durable and that erase messages, beyond which a room accepts no more (Specs/hostile.md
    /// row 100).
    static let maxErasureCount = 64

    /// Consecutive messages of one batch under construction.
    struct Part: Sendable {
        fileprivate(set) var count: Int
        let publisher: MemberHandle
        /// The session that published the messages last, which receives the acceptance.
        fileprivate(set) var confirmTo: MemberHandle
        let window: Int
        /// Bytes of each message beyond the credit that it used.
        let stampByteCount: Int

        /// Whether messages of another part may be counted in this one.
        fileprivate func isContinued(by other: Part) -> Bool {
            publisher == other.publisher && confirmTo == other.confirmTo && window == other.window
                && stampByteCount == other.stampByteCount
        }

        /// The credit of messages of this part.
        fileprivate func credit(of entries: ArraySlice<LogEntry>) -> Int {
            var byteCount = 0
            for index in entries.indices { byteCount += entries[index].body.byteCount - stampByteCount }
            return byteCount
        }
    }

    /// A session that its peer has closed, and the offset of its last message that is not durable.
    private struct Closing: Sendable {
        var handle: MemberHandle
        var lastOffset: UInt64
    }

    /// The erasure of a message by a deletion that is not durable.
    private struct PendingErasure: Sendable {
        /// The offset of the deletion.
        var deletion: UInt64
        var erasure: MessageErasure
    }

    private var storing: [LogEntry]?
    private var unstored: [LogEntry] = []
    /// The parts of the messages that are not durable, in the order of offsets.
    private var unconfirmed = Deque<Part>()
    /// Bytes of the same messages and of the batch under construction.
    private(set) var pendingByteCount = 0
    private let inPlace = InPlace()
    /// The messages since `takePublished`, and their bytes.
    private var published = (messageCount: 0, byteCount: 0)
    /// Slots of members whose acceptances are sent at the end of the turn.
    private(set) var publishers: [Int] = []
    private var erasures: [PendingErasure] = []
    /// Members that have left and whose sessions remain until their last messages are durable.
    private var closing: [Closing] = []

    var isEmpty: Bool {
        storing == nil && unstored.isEmpty && unconfirmed.isEmpty && pendingByteCount == 0 && publishers.isEmpty
            && closing.isEmpty && erasures.isEmpty
    }

    /// Whether the deletions that erase messages have reached their maximum.
    var hasManyErasures: Bool { erasures.count >= Publication.maxErasureCount }

    /// Whether the store has a batch.
    var isStoring: Bool { storing != nil }

    /// Whether there are messages for the store, which has none.
    var mayStore: Bool { storing == nil && !unstored.isEmpty }

    /// Messages that are not durable.
    var entryCount: Int { unstored.count + (storing?.count ?? 0) }

    /// Whether messages or sessions wait for the store.
    var isWaiting: Bool { !unconfirmed.isEmpty || !closing.isEmpty }

    /// Whether the pending bytes have reached their maximum.
    var isFull: Bool { pendingByteCount >= Publication.maxPendingByteCount }

    /// The highest assigned offset.
    func lastOffset(durable: UInt64) -> UInt64 { (unstored.last ?? storing?.last)?.offset ?? durable }

    // MARK: Publishing

    /// Bytes were appended to the batch under construction.
    mutating func addPending(byteCount: Int) {
        pendingByteCount += byteCount
        published.messageCount += 1
        published.byteCount += byteCount
    }

    /// The numbers of messages that were published since the last call, and of their bytes.
    mutating func takePublished() -> (messageCount: Int, byteCount: Int) {
        defer { published = (0, 0) }
        return published
    }

    /// A message at an offset, which is not durable, erases another message.
    mutating func erase(_ erasure: MessageErasure, by deletion: UInt64) {
        erasures.append(PendingErasure(deletion: deletion, erasure: erasure))
    }

    /// Takes the messages of the batch under construction.
    mutating func append(
        _ batch: inout RoomBatch, areSummed: Bool, to windows: inout DeduplicationWindows
    ) {
        guard let publisher = batch.publisher else { return }
        // Usually it is the only batch of the turn. The array exists as long as its messages.
        if unstored.isEmpty { unstored.reserveCapacity(batch.count) }
        let first = unstored.count
        let window = batch.window
        unconfirmed.append(
            Part(
                count: batch.count, publisher: publisher, confirmTo: publisher, window: window,
                stampByteCount: batch.stampByteCount))
        batch.close(into: &unstored, areSummed: areSummed)
        windows[window].append(unstored[first...])
    }

    /// A message was published again before it is durable: its acceptance goes to the last session. Returns
    /// false when no such message waits for the store.
    mutating func redirect(
        _ counter: UInt64, _ window: Int, at offset: UInt64?, to handle: MemberHandle, durable: UInt64
    ) -> Bool {
        let isMeant: (LogEntry) -> Bool = { $0.counter == counter && Int($0.window) == window }
        let found = offset ?? (unstored.last(where: isMeant) ?? storing?.last(where: isMeant))?.offset
        guard let found, let index = separate(found, durable: durable) else { return false }
        unconfirmed[index].confirmTo = handle
        return true
    }

    /// Separates the message at an offset into a part of its own. Returns the part's index; nil when the message is
    /// durable.
    private mutating func separate(_ offset: UInt64, durable: UInt64) -> Int? {
        var first = durable + 1
        guard offset >= first else { return nil }
        for index in unconfirmed.indices {
            let part = unconfirmed[index]
            guard offset >= first + UInt64(part.count) else { return separate(Int(offset - first), ofPart: index) }
            first += UInt64(part.count)
        }
        return nil
    }

    private mutating func separate(_ position: Int, ofPart index: Int) -> Int {
        let part = unconfirmed[index]
        guard part.count > 1 else { return index }
        var parts = Array(unconfirmed)
        let counts = [position, 1, part.count - position - 1].filter { $0 > 0 }
        parts.replaceSubrange(
            index...index,
            with: counts.map { count in
                var cut = part
                cut.count = count
                return cut
            })
        unconfirmed = Deque(parts)
        return position > 0 ? index + 1 : index
    }

    // MARK: Storing

    /// The next batch for the store, and the erasures of messages before it; nil while the store has one, and when
    /// there are no messages. The store never has the body of a message that the same batch erases.
    mutating func startStoring() -> (entries: [LogEntry], erasures: [MessageErasure])? {
        guard mayStore else { return nil }
        storing = unstored
        unstored = []
        guard var entries = storing, let first = entries.first?.offset else { return nil }
        let erasures = erasures.map(\.erasure)
        guard !erasures.isEmpty else { return (entries, []) }
        for index in entries.indices { entries[index] = erasures.erased(entries[index]) ?? entries[index] }
        return (entries, erasures.filter { $0.offset < first })
    }

    /// Takes the erasures by deletions that are durable.
    mutating func takeErasures(durable: UInt64) -> [MessageErasure] {
        guard !erasures.isEmpty else { return [] }
        let taken = erasures.filter { $0.deletion <= durable }.map(\.erasure)
        erasures.removeAll { $0.deletion <= durable }
        return taken
    }

    /// The messages of the store's batch up to an offset; nil when the store has no batch.
    func stored(upTo offset: UInt64) -> ArraySlice<LogEntry>? { storing?.prefix { $0.offset <= offset } }

    /// Ends the store's batch; false when a part of it is not durable.
    mutating func endStoring(durable: UInt64) -> Bool {
        guard let last = storing?.last, durable >= last.offset else { return false }
        storing = nil
        return true
    }

    /// The store has refused its batch, whose messages wait again, before the others.
    mutating func suspendStoring() {
        unstored.insert(contentsOf: storing.take() ?? [], at: 0)
    }

    /// A message that is not durable.
    struct Waiting {
        let part: Part
        let entry: LogEntry
        let credit: Int
    }

    /// Takes all messages that are not durable in their order, to admit them again. The store has none of them.
    mutating func takeWaiting() -> [Waiting] {
        suspendStoring()
        var rest = unstored[...]
        var waiting: [Waiting] = []
        waiting.reserveCapacity(rest.count)
        while let part = unconfirmed.popFirst() {
            for entry in rest.prefix(part.count) {
                waiting.append(Waiting(part: part, entry: entry, credit: entry.body.byteCount - part.stampByteCount))
            }
            rest = rest.dropFirst(part.count)
        }
        unstored = []
        erasures = []
        pendingByteCount = 0
        return waiting
    }

    /// The waiting messages, if all are of sessions of this relay; nil while the store has a batch.
    var forwardable: ArraySlice<LogEntry>? {
        mayStore && unconfirmed.allSatisfy { $0.confirmTo.slot >= 0 } ? unstored[...] : nil
    }

    /// A message of a part waits, after the others.
    mutating func append(_ entry: LogEntry, of part: Part) {
        unstored.append(entry)
        pendingByteCount += entry.body.byteCount
        if let last = unconfirmed.indices.last, unconfirmed[last].isContinued(by: part) {
            unconfirmed[last].count += 1
        } else {
            var own = part
            own.count = 1
            unconfirmed.append(own)
        }
    }

    /// All messages that remain are admitted again.
    mutating func endAdmission(durable: UInt64) {
        for index in closing.indices {
            closing[index].lastOffset = lastOffset(confirmedTo: closing[index].handle, durable: durable)
        }
    }

    /// Durable messages of one part.
    struct Confirmation {
        var part: Part
        var entries: ArraySlice<LogEntry>
        var credit: Int
    }

    /// Takes the messages of the next part from durable ones; nil when there are none.
    @inline(__always)
    mutating func confirmNext(_ rest: inout ArraySlice<LogEntry>) -> Confirmation? {
        guard !rest.isEmpty, let part = unconfirmed.first else { return nil }
        let own = rest.prefix(part.count)
        rest = rest.dropFirst(part.count)
        let credit = part.credit(of: own)
        pendingByteCount -= credit + own.count * part.stampByteCount
        unconfirmed[0].count -= own.count
        if unconfirmed[0].count == 0 { _ = unconfirmed.popFirst() }
        return Confirmation(part: part, entries: own, credit: credit)
    }

    /// Discards all messages after a failure of the store. Returns their parts with their credit.
    mutating func discard(durable: UInt64) -> [(part: Part, credit: Int)] {
        // In the order of `unconfirmed`.
        var entries = (Array((storing ?? []).drop { $0.offset <= durable }) + unstored)[...]
        storing = nil
        unstored = []
        pendingByteCount = 0
        erasures = []
        var failed: [(part: Part, credit: Int)] = []
        while let part = unconfirmed.popFirst() {
            failed.append((part, part.credit(of: entries.prefix(part.count))))
            entries = entries.dropFirst(part.count)
        }
        // No acceptance follows, so the sessions end.
        for index in closing.indices { closing[index].lastOffset = 0 }
        return failed
    }

    // MARK: Acceptances

    /// A member has acceptances.
    mutating func notePublisher(_ slot: Int) { publishers.append(slot) }

    /// The acceptances were sent.
    mutating func removePublishers() {
        if !publishers.isEmpty { publishers.removeAll(keepingCapacity: true) }
    }

    // MARK: Closing sessions

    /// A session was closed: it ends when its last message is durable.
    mutating func close(_ handle: MemberHandle, durable: UInt64) {
        closing.append(Closing(handle: handle, lastOffset: lastOffset(confirmedTo: handle, durable: durable)))
    }

    /// The offset of a session's last message that is not durable; 0 if there is none.
    private func lastOffset(confirmedTo handle: MemberHandle, durable: UInt64) -> UInt64 {
        var next = durable + 1
        var last: UInt64 = 0
        for part in unconfirmed {
            next += UInt64(part.count)
            if part.confirmTo == handle { last = next - 1 }
        }
        return last
    }

    /// A closing session was reset.
    mutating func removeClosing(_ handle: MemberHandle) {
        if !closing.isEmpty { closing.removeAll { $0.handle == handle } }
    }

    var isClosing: Bool { !closing.isEmpty }
    var closingMembers: [MemberHandle] { closing.map(\.handle) }

    /// Takes the closing sessions whose last messages are durable, except those that wait for something else.
    mutating func takeClosed(durable: UInt64, except waiting: [MemberHandle]) -> [MemberHandle] {
        let closed = closing.filter { $0.lastOffset <= durable && !waiting.contains($0.handle) }.map(\.handle)
        if !closed.isEmpty { closing.removeAll { closed.contains($0.handle) } }
        return closed
    }

    // MARK: Quiescence

    /// Checks that every message is durable and accepted.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("bytes that are not durable", pendingByteCount, 0)
        check.empty("messages that are not durable", count: entryCount)
        check.empty("publishers without an acceptance", count: unconfirmed.count)
        check.empty("acceptances that were not sent", count: publishers.count)
        check.empty("closing sessions", count: closing.count)
        check.empty("erasures that are not durable", count: erasures.count)
    }
}

extension Publication.Part {
    /// A part without messages, of a publisher without credit.
    init(publisher: MemberHandle, window: Int) {
        self.init(count: 0, publisher: publisher, confirmTo: publisher, window: window, stampByteCount: 0)
    }
}

extension AcceptedRun {
    /// Takes the first messages of one device, as far as their counters are consecutive; nil when there are none.
    init?(takenFrom entries: inout ArraySlice<LogEntry>) {
        guard let first = entries.indices.first else { return nil }
        let (counter, offset) = (entries[first].counter, entries[first].offset)
        var end = first + 1
        while end < entries.endIndex, entries[end].counter == counter &+ UInt64(end - first) { end += 1 }
        self.init(firstCounter: counter, count: UInt32(end - first), firstOffset: offset)
        entries = entries[end...]
    }
}
