import Martlet
import MartletLink
import MartletWire

/// The record of a run: each message as it was sent, accepted, stored and delivered, and the violated invariants.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class Ledger: @unchecked Sendable {
    /// The outcome of a message, as far as its application knows it.
    enum State {
        /// The message was not accepted, its call has not returned, or a storage has lost it.
        case mayBeStored
        /// The log or the dead letters have the message.
        case isStored
        /// Nothing has the message: it was refused, discarded or lost before it was sent, or its call has thrown.
        case isNotStored
        /// The message was cancelled. An outbox that is killed can forget this before it was sent.
        case isCancelled
    }

    /// A message of the applications, by its text.
    struct Record {
        let device: Int
        let room: RoomName
        /// The place of the call among those of all devices; nil for a reply, which has none.
        let place: Int?
        let sentAt: Instant
        var state = State.mayBeStored
        var id: MessageID?
        /// Whether it has not the place of its first call.
        var isRetried = false
        /// Whether a restored outbox may publish it under a second ID.
        var mayRepeat = false
    }

    /// The maximum number of recorded violations.
    static let maxViolations = 8
    /// The maximum number of connection attempts of a device within `attemptWindow`, including those requested by the
    /// user.
    static let maxAttempts = 40
    static let attemptWindow = Duration.seconds(10)

    let logs = RoomLogs()
    private var trace: Trace
    private(set) var violations: [Violation] = []
    /// The messages with a text, and the replies that an acknowledgement may have stored.
    private(set) var sent: [String: Record] = [:]
    /// The devices whose outboxes were restored, so that they acknowledge messages again.
    private var restoredDevices: Set<Int> = []
    private var sentCount = 0
    private var deliveryCount = 0
    /// Whether a message may be stored after a later one of its device: it was refused, and its device has published it
    /// again without having been notified.
    var mayBeLate: (Record, MessageID) -> Bool = { _, _ in false }
    private let clock: () -> Instant
    /// The last counter of each device in the current log of each room.
    private var counters: [RoomName: [DeviceID: UInt64]] = [:]
    /// The recent connection attempts of each device.
    private var attempts: [Int: [Instant]] = [:]

    init(keepsTrace: Bool = false, clock: @escaping () -> Instant) {
        trace = Trace(keepsLines: keepsTrace)
        self.clock = clock
    }

    var now: Instant { clock() }

    /// Records an observation.
    func note(_ device: Int, _ what: StaticString, _ numbers: UInt64...) {
        trace.note(now, device: device, what, numbers)
    }

    func fail(_ invariant: Violation.Invariant, _ detail: String) {
        guard violations.count < Ledger.maxViolations else { return }
        violations.append(Violation(invariant: invariant, at: now.nanoseconds / 1_000_000, detail: detail))
    }

    /// Records the fault of an observation, if any.
    func fail(_ invariant: Violation.Invariant, ifAny fault: String?) {
        if let fault { fail(invariant, fault) }
    }

    /// The result of the run, without the counts of the world.
    func result(seed: UInt64) -> RunResult {
        var result = RunResult(seed: seed)
        (result.traceHash, result.trace) = (trace.hash, trace.lines)
        result.wasCancelled = Task.isCancelled
        if !result.wasCancelled { result.violations = violations }
        (result.messageCount, result.deliveryCount) = (sentCount, deliveryCount)
        return result
    }

    // MARK: - Sent

    func sending(_ text: String, from device: Int, in room: RoomName, as id: MessageID? = nil) {
        sentCount += 1
        sent[text] = Record(device: device, room: room, place: sentCount, sentAt: now, id: id)
    }

    /// Records replies that an acknowledgement stores, perhaps again.
    func replying(_ texts: [String], from device: Int, in room: RoomName) {
        for text in texts where sent[text] == nil {
            sent[text] = Record(device: device, room: room, place: nil, sentAt: now)
        }
    }

    func set(_ text: String, _ state: State, as id: MessageID? = nil) {
        sent[text]?.state = state
        if let id { sent[text]?.id = id }
    }

    func retried(_ text: String) {
        sent[text]?.isRetried = true
        sent[text]?.state = .mayBeStored
    }

    /// Records that the outbox of a device was replaced by an earlier one, which has these messages without an outcome.
    func restoredOutbox(of device: Int, pending: [MessageContent]) {
        restoredDevices.insert(device)
        let pending = Set(pending.compactMap(RoomLogs.text))
        for (text, record) in sent where record.device == device || pending.contains(text) {
            sent[text]?.state = .mayBeStored
            if pending.contains(text) { sent[text]?.mayRepeat = true }
        }
    }

    // MARK: - Stored

    /// Records messages that a log has gained, and checks that they were sent, once and in order.
    func stored(_ entries: some Sequence<LogEntry>, in room: RoomName) {
        for stored in entries {
            let entry = logs.append(stored, to: room)
            if stored.offset != UInt64(logs[room].count) {
                fail(.storedOnceInOrder, "\(room) has a gap at \(entry.id)")
            }
            let last = counters[room]?[stored.device] ?? 0
            counters[room, default: [:]][stored.device] = max(last, stored.counter)
            checkSent(entry, in: room)
            guard stored.counter <= last else { continue }
            let record = sent[entry.text]
            if let record, mayBeLate(record, entry.id), !isRepeated(entry, in: room) {
                sent[entry.text]?.isRetried = true
            } else {
                fail(.storedOnceInOrder, "\(entry.id) at \(stored.offset) of \(room) after \(last)")
            }
        }
    }

    private func isRepeated(_ entry: RoomLogs.Entry, in room: RoomName) -> Bool {
        logs[room].contains { $0.offset < entry.offset && $0.id == entry.id }
    }

    /// The messages with a text are those of the applications, except those of the relay.
    private func checkSent(_ entry: RoomLogs.Entry, in room: RoomName) {
        guard !entry.text.isEmpty, entry.stored.device.rawValue != 0 else { return }
        let record = sent[entry.text]
        guard let record, record.room == room else {
            return fail(.storedOnceInOrder, "\(entry.id) of \(room) was not sent: \"\(entry.text.prefix(40))\"")
        }
        // A device that has been replaced by another keeps the counters of its messages.
        guard let id = record.id, !record.isRetried, !record.mayRepeat else { return }
        if id.sender != entry.id.sender || id.counter != entry.id.counter {
            fail(.storedOnceInOrder, "\(entry.id) of \(room) has the text of \(id)")
        }
    }

    /// Records that the store has lost the log of a room, or its last messages. The next log has the messages up to an
    /// offset.
    func replacedLog(of room: RoomName, by id: LogID?, upTo end: UInt64) {
        logs.replace(room, by: id, upTo: end)
        counters[room] = nil
        for entry in logs[room] {
            counters[room, default: [:]][entry.stored.device, default: 0] =
                max(counters[room]?[entry.stored.device] ?? 0, entry.stored.counter)
        }
        for (text, record) in sent where record.room == room && record.state == .isStored {
            sent[text]?.state = .mayBeStored
        }
    }

    /// Checks that an accepted message is durable: at the offset in a log, by default any log of the room, or anywhere
    /// in it if the relay no longer knows the offset.
    func accepted(_ id: MessageID, at offset: UInt64, in room: RoomName, of log: LogID? = nil) {
        guard !logs.has(id, at: offset > 0 ? offset : nil, in: room, of: log) else { return }
        fail(.acceptedIsDurable, "\(id) is accepted at \(offset) of \(room), which has \(logs[room].count) messages")
    }

    // MARK: - Delivered

    /// Checks a delivery.
    ///
    /// - Parameters:
    ///   - text: The text; nil for an erased message.
    ///   - last: The offset that was delivered before.
    func delivered(
        _ id: MessageID, _ text: String?, isErased: Bool = false, at cursor: RoomCursor, in room: RoomName,
        after last: UInt64, to device: Int
    ) {
        deliveryCount += 1
        if cursor.offset <= last {
            fail(.deliveredOnceInOrder, "device \(device) delivers \(cursor.offset) of \(room) after \(last)")
        }
        guard let entry = logs.entry(at: cursor.offset, in: room, of: cursor.log), entry.id == id,
            isErased ? entry.erasedAt != nil : text == entry.body?.text
        else { return fail(.deliveredIsStored, "\(id) at \(cursor.offset) of \(room) is not in the store") }
    }

    /// Checks a gap: the store has removed its messages, or they exceed the device's limit.
    ///
    /// - Parameters:
    ///   - first: The first offset that the store keeps.
    ///   - limit: The maximum body size of the device, in bytes.
    func skipped(
        _ offsets: ClosedRange<UInt64>, in room: RoomName, of log: LogID?, first: UInt64 = 1, limit: Int = .max,
        by device: Int
    ) {
        guard offsets.upperBound >= first else { return }
        let kept = max(offsets.lowerBound, first)...offsets.upperBound
        let isTooLong = kept.allSatisfy { offset in
            logs.entry(at: offset, in: room, of: log).map { $0.stored.body.byteCount > limit } ?? false
        }
        if !isTooLong { fail(.noMessageFails, "device \(device) receives a gap \(offsets) of \(room)") }
    }

    /// Checks the report of a replaced log.
    func reportedLoss(of previous: RoomCursor, in room: RoomName, to device: Int) {
        guard logs.branch(of: previous.log, in: room) ?? .max == .max else { return }
        fail(.logLossIsReported, "device \(device) receives a loss of \(previous) of \(room)")
    }

    // MARK: - Outcomes

    /// Checks after the last fault that each message is once in the log or among the dead letters, in the order of the
    /// calls, or nowhere if it was refused.
    func checkOutcomes(in room: RoomName, letters: [DeadLetter] = []) {
        var counts: [String: Int] = [:]
        var places: [Int: Int] = [:]
        for entry in logs[room] where !entry.text.isEmpty {
            counts[entry.text, default: 0] += 1
            guard counts[entry.text] == 1, let record = sent[entry.text], let place = record.place, !record.isRetried,
                !record.mayRepeat
            else { continue }
            if let before = places[record.device], before > place {
                fail(.storedOnceInOrder, "\"\(entry.text.prefix(40))\" is stored after a later one in \(room)")
            }
            places[record.device] = place
        }
        // An edit can be erased by a deletion that is stored together with it. With a new device ID it has the counter.
        let erased = logs[room].filter { $0.erasedAt == $0.offset }.map(\.id)
        let letters = Dictionary(grouping: letters) { RoomLogs.text(of: $0.content) ?? "" }
        for (text, record) in sent.sorted(by: { $0.key < $1.key }) where record.room == room {
            let isErased = erased.contains { $0.sender == record.id?.sender && $0.counter == record.id?.counter }
            check(text, record, counts[text] ?? (isErased ? 1 : 0), letters[text] ?? [])
        }
    }

    private func check(_ text: String, _ record: Record, _ count: Int, _ letters: [DeadLetter]) {
        let name = "\"\(text.prefix(40))\" of device \(record.device) in \(record.room)"
        // A device with a restored outbox acknowledges again.
        let isRestored = restoredDevices.contains(record.device)
        if count > 1, !record.mayRepeat, record.place != nil || !isRestored {
            fail(.storedOnceInOrder, "\(name) is stored \(count) times")
        }
        switch record.state {
        case .isStored where count == 0 && letters.isEmpty:
            fail(.storedOnceInOrder, "\(name) is neither stored nor a dead letter")
        case .isNotStored where count > 0 || !letters.isEmpty:
            fail(.refusedLeavesNoTrace, "\(name) is \(count > 0 ? "stored" : "a dead letter"), and was refused")
        case .isCancelled where count > 0:
            fail(.refusedLeavesNoTrace, "\(name) is stored although it was cancelled")
        case .mayBeStored, .isStored, .isNotStored, .isCancelled: break
        }
        if count > 0, !record.mayRepeat, !isRestored,
            let letter = letters.first(where: { $0.failure != .outcomeUnknown })
        {
            fail(.storedOnceInOrder, "\(name) is stored, and failed: \(letter.failure.key)")
        }
    }

    // MARK: - Connections

    /// Checks the rate of a device's connection attempts.
    func connecting(_ device: Int) {
        var recent = (attempts[device] ?? []).filter { now - $0 < Ledger.attemptWindow }
        recent.append(now)
        attempts[device] = recent
        if recent.count == Ledger.maxAttempts + 1 {
            fail(.attemptsAreLimited, "device \(device) started \(recent.count) attempts in 10 s")
        }
    }
}
