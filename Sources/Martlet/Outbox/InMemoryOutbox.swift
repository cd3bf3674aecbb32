import MartletLink
import MartletTransport
import MartletWire

/// An outbox in memory. Its contents are lost at the end of the process; until then, another client can be started with
/// it when the last one has been stopped or released.
///
/// Its messages are bounded by the limits of the rooms, its cursors by ``maxCursorCount``, its dead letters by
/// ``maxDeadLetterCount`` and ``maxDeadLetterByteCount``. It does not keep the outcomes of accepted messages.
public final class InMemoryOutbox: ImmediateOutbox {
    /// The maximum number of rooms whose cursors are stored. Beyond it, those of the least recently used rooms without
    /// pending messages are removed.
    public static let maxCursorCount = RoomCursors.maxCount
    /// The maximum number of dead letters. Beyond it, the oldest one is removed.
    public static let maxDeadLetterCount = 1024
    /// The maximum number of bytes of the contents of dead letters. Beyond it, the oldest ones are removed; the newest
    /// one is kept even if it is larger.
    public static let maxDeadLetterByteCount = 16 * 1024 * 1024

    fileprivate struct State {
        var device: DeviceID
        var account: AccountName?
        var nextCounter: UInt64 = 1
        var pending: [RoomName: Deque<OutboxEntry>] = [:]
        var deadLetters: [DeadLetter] = []
        var deadLetterByteCount = 0
        var cursors = RoomCursors()
    }

    private let state: Guarded<State>

    /// Creates an empty outbox with a random device ID.
    public convenience init() {
        self.init(device: DeviceID(rawValue: .random(in: 1 ... .max)))
    }

    package init(device: DeviceID) {
        state = Guarded(State(device: device))
    }

    /// The current device ID.
    package var device: DeviceID { state.withLock { $0.device } }

    /// Replaces the contents by those of another outbox, as a restored or copied file does.
    package func restore(_ other: InMemoryOutbox) {
        let copy = other.state.withLock { $0 }
        state.withLock { $0 = copy }
    }

    /// Returns the stored messages, failures and cursors.
    public func open() -> OutboxState {
        state.withLock { state in
            let pending = state.pending.values.flatMap { $0 }.sorted { $0.id.counter < $1.id.counter }
            let outcomes = state.deadLetters.map {
                OutboxOutcome(id: $0.id, room: $0.room, result: .failed($0.failure))
            }
            return OutboxState(
                device: state.device, nextCounter: state.nextCounter, pending: pending,
                outcomes: outcomes.sorted { $0.id.counter < $1.id.counter }, cursors: state.cursors.all)
        }
    }

    /// Records the account, if there is none.
    ///
    /// - Throws: `MartletError.outboxOfAnotherAccount`.
    public func claim(for account: AccountName) async throws {
        let owner = state.withLock { state in
            state.account = state.account ?? account
            return state.account!
        }
        guard owner == account else { throw MartletError.outboxOfAnotherAccount(owner) }
    }

    /// Stores a transaction.
    public func commit(_ transaction: OutboxTransaction) {
        state.withLock { state in
            for letter in transaction.replaced.values { state.discard { $0.id == letter } }
            for entry in transaction.appended { state.append(entry) }
            for edit in transaction.edits { state.change(edit.id, in: edit.room) { $0.content = edit.content } }
            for (room, ids) in transaction.inFlight {
                for id in ids {
                    state.change(id, in: room) { $0.inFlightSince = $0.inFlightSince ?? transaction.inFlightAt }
                }
            }
            for outcome in transaction.outcomes { state.settle(outcome) }
            if !transaction.discarded.isEmpty { state.discard { transaction.discarded.contains($0.id) } }
            for (room, cursor) in transaction.cursors {
                let pending = state.pending
                state.cursors.advance(room, to: cursor) { Set(pending.keys) }
            }
            if let device = transaction.device { state.replaceDevice(by: device) }
        }
    }

    /// Returns the dead letters of a room.
    public func deadLetters(in room: RoomName) -> [DeadLetter] {
        state.withLock { $0.deadLetters.filter { $0.room == room } }.sorted { $0.id.counter < $1.id.counter }
    }
}

extension InMemoryOutbox.State {
    /// A message that was made before the device has taken another ID belongs to the current one (C-103).
    fileprivate mutating func append(_ entry: OutboxEntry) {
        var entry = entry
        entry.id.device = device
        nextCounter = max(nextCounter, entry.id.counter + 1)
        pending[entry.room, default: []].append(entry)
    }

    fileprivate mutating func change(_ id: MessageID, in room: RoomName, _ body: (inout OutboxEntry) -> Void) {
        guard let index = pending.index(forKey: room), let place = place(of: id, in: pending.values[index]) else {
            return
        }
        body(&pending.values[index][place])
    }

    fileprivate mutating func settle(_ outcome: OutboxOutcome) {
        guard let index = pending.index(forKey: outcome.room) else { return }
        var settled: OutboxEntry?
        if pending.values[index].first?.id.counter == outcome.id.counter {
            settled = pending.values[index].popFirst()
        } else if let place = place(of: outcome.id, in: pending.values[index]) {
            settled = pending.values[index][place]
            pending.values[index] = Deque(pending.values[index].filter { $0.id.counter != outcome.id.counter })
        }
        if pending.values[index].isEmpty { pending.remove(at: index) }
        guard let settled, case .failed(let failure) = outcome.result, failure != .cancelled else { return }
        let letter = DeadLetter(settled, failure: failure)
        deadLetters.append(letter)
        deadLetterByteCount += letter.byteCount
        while deadLetters.count > InMemoryOutbox.maxDeadLetterCount
            || deadLetterByteCount > InMemoryOutbox.maxDeadLetterByteCount && deadLetters.count > 1
        {
            deadLetterByteCount -= deadLetters.removeFirst().byteCount
        }
    }

    fileprivate mutating func replaceDevice(by device: DeviceID) {
        self.device = device
        pending = pending.mapValues { entries in
            Deque(
                entries.map { entry in
                    var entry = entry
                    entry.id.device = device
                    return entry
                })
        }
    }

    fileprivate mutating func discard(where matches: (DeadLetter) -> Bool) {
        deadLetters.removeAll(where: matches)
        deadLetterByteCount = deadLetters.reduce(0) { $0 + $1.byteCount }
    }

    /// Finds an entry by its counter, which is unique among the messages without an outcome. The counters ascend.
    private func place(of id: MessageID, in entries: Deque<OutboxEntry>) -> Int? {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id.counter < id.counter { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].id.counter == id.counter ? low : nil
    }
}

extension Outbox where Self == InMemoryOutbox {
    /// A new outbox in memory.
    public static var memory: InMemoryOutbox { InMemoryOutbox() }
}
