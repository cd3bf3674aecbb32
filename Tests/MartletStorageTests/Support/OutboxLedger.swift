import Martlet
import MartletLink
import MartletWire

@testable import MartletSQLite

/// The contents of an outbox, as its transactions define them.
struct OutboxLedger {
    struct Cursor: Equatable {
        var offset: UInt64
        /// The number of the use that has changed the cursor last.
        var used: Int
    }

    /// The state of an outbox in a file.
    struct Observed {
        var state: OutboxState
        var letters: [DeadLetter]
    }

    static let rooms: [RoomName] = ["a", "b", "c", "d", "e", "f", "g"]
    static let log = LogID(rawValue: 5)
    /// The duration for which the outcome of an accepted message is certainly kept.
    private static let outcomeLifetime: UInt64 = 6 * 24 * 3600 * 1000

    static var options: SQLiteOutbox.Options {
        var options = SQLiteOutbox.Options()
        options.maxMessageCount = 10
        options.maxByteCount = 40_000
        options.maxCursorCount = 4
        return options
    }

    /// The device; nil before the file is opened.
    var device: DeviceID?
    var pending: [UInt64: OutboxEntry] = [:]
    private(set) var letters: [MessageID: DeadLetter] = [:]
    private var accepted: [MessageID: (offset: UInt64, at: UInt64)] = [:]
    private var cursors: [RoomName: Cursor] = [:]
    private var useCount = 0
    /// Whether outcomes and uses of cursors are known. They are not after damage.
    private var isComplete = true
    /// The highest counter that a transaction has appended.
    private(set) var highest: UInt64 = 0

    init() {}

    /// A ledger with the state of a damaged file.
    init(damaged observed: Observed) {
        device = observed.state.device
        pending = Dictionary(observed.state.pending.map { ($0.id.counter, $0) }) { first, _ in first }
        letters = Dictionary(observed.letters.map { ($0.id, $0) }) { first, _ in first }
        highest = observed.state.nextCounter - 1
        isComplete = false
    }

    // MARK: Transactions

    /// Performs a transaction at a time, or throws the error with which the outbox refuses it.
    mutating func apply(_ transaction: OutboxTransaction, at now: UInt64) throws {
        for letter in transaction.replaced.values {
            guard letters.removeValue(forKey: letter) != nil else { throw MartletError.unknownDeadLetter }
        }
        for entry in transaction.appended {
            pending[entry.id.counter] = entry
            highest = max(highest, entry.id.counter)
        }
        for edit in transaction.edits { pending[edit.id.counter]?.content = edit.content }
        if !transaction.appended.isEmpty || !transaction.edits.isEmpty { try checkQuota() }
        for id in transaction.inFlight.values.joined() where pending[id.counter]?.inFlightSince == nil {
            pending[id.counter]?.inFlightSince = transaction.inFlightAt
        }
        for outcome in transaction.outcomes { settle(outcome, at: now) }
        for id in transaction.discarded { letters[id] = nil }
        for (room, cursor) in transaction.cursors { save(cursor, of: room) }
        if let device = transaction.device {
            self.device = device
            for counter in pending.keys { pending[counter]?.id.device = device }
        }
    }

    private func checkQuota() throws {
        let options = Self.options
        if pending.count > options.maxMessageCount {
            throw MartletError.outboxFull(limit: .messages(options.maxMessageCount))
        }
        if pending.values.reduce(0, { $0 + $1.content.bytes.count }) > options.maxByteCount {
            throw MartletError.outboxFull(limit: .bytes(options.maxByteCount))
        }
    }

    private mutating func settle(_ outcome: OutboxOutcome, at now: UInt64) {
        guard let entry = pending.removeValue(forKey: outcome.id.counter) else { return }
        switch outcome.result {
        case .accepted(let offset): accepted[outcome.id] = (offset, now)
        case .failed(.cancelled): break
        case .failed(let failure): letters[outcome.id] = DeadLetter(entry, failure: failure)
        }
    }

    private mutating func save(_ cursor: RoomCursor, of room: RoomName) {
        useCount += 1
        if cursor.offset > cursors[room]?.offset ?? 0 {
            cursors[room] = Cursor(offset: cursor.offset, used: useCount)
        }
        let surplus = cursors.count - Self.options.maxCursorCount
        guard surplus > 0, let newest = cursors.values.map(\.used).max() else { return }
        let withMessages = Set(pending.values.map(\.room))
        let removable = cursors.filter { $0.value.used < newest && !withMessages.contains($0.key) }
        for (room, _) in removable.sorted(by: { $0.value.used < $1.value.used }).prefix(surplus) { cursors[room] = nil }
    }

    // MARK: Comparison

    /// The rows in which a state differs. A cursor, a message and the device are a row each.
    func differences(from observed: Observed, at now: UInt64) -> [String] {
        let state = observed.state
        var found: [String] = []
        if let device, device != state.device { found.append("another device") }
        if state.nextCounter <= highest { found.append("counter \(highest) will be used again") }
        let counters = state.pending.map(\.id.counter)
        if counters != counters.sorted() { found.append("the messages are out of order") }
        if Set(counters).count < counters.count { found.append("a message is there twice") }
        let stored = Dictionary(state.pending.map { ($0.id.counter, $0) }) { first, _ in first }
        for counter in Set(pending.keys).union(stored.keys).sorted() where pending[counter] != stored[counter] {
            found.append(
                "message \(counter) is \(Self.text(stored[counter])), not \(Self.text(pending[counter]))")
        }
        let failed = Dictionary(observed.letters.map { ($0.id, $0) }) { first, _ in first }
        for id in Set(letters.keys).union(failed.keys) where letters[id] != failed[id] {
            found.append("dead letter \(id.counter) is \(failed[id] == nil ? "lost" : "different")")
        }
        found += outcomeDifferences(from: state, at: now)
        for room in Set(cursors.keys).union(state.cursors.keys) where isComplete {
            let (own, other) = (cursors[room]?.offset, state.cursors[room]?.offset)
            if own != other { found.append("the cursor of \(room) is \(other ?? 0), not \(own ?? 0)") }
        }
        return found
    }

    private func outcomeDifferences(from state: OutboxState, at now: UInt64) -> [String] {
        var found: [String] = []
        var offsets: [MessageID: UInt64] = [:]
        for outcome in state.outcomes {
            guard case .accepted(let offset) = outcome.result else { continue }
            offsets[outcome.id] = offset
            if isComplete, accepted[outcome.id]?.offset != offset {
                found.append("message \(outcome.id.counter) has an outcome")
            }
        }
        for (id, outcome) in accepted where offsets[id] == nil {
            let age = now - min(now, outcome.at)
            if age < Self.outcomeLifetime { found.append("the outcome of message \(id.counter) is lost") }
        }
        return found
    }

    private static func text(_ entry: OutboxEntry?) -> String {
        guard let entry else { return "missing" }
        return "\(entry.room)/\(entry.content.bytes.count) bytes/\(entry.inFlightSince ?? 0)"
    }
}
