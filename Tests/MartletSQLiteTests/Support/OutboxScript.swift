import Martlet

@testable import MartletSQLite

/// A sequence of transactions, and the states that the outbox may have after some of them have failed.
struct OutboxScript {
    /// A message of the script.
    private struct Message {
        var isAppended = false
        /// Whether the last attempt to settle it was acknowledged, has failed, or was not made.
        var settled: Bool?
    }

    private var messages: [UInt64: Message] = [:]
    private var cursor: UInt64 = 0
    private var mayHaveCursor: UInt64 = 0
    private(set) var errors: [any Error] = []

    static let transactionCount = 8

    /// Performs all transactions, also after errors.
    static func run(_ outbox: SQLiteOutbox) async -> OutboxScript {
        var script = OutboxScript()
        let device: DeviceID
        do { device = try await outbox.open().device } catch {
            script.errors.append(error)
            return script
        }
        let entries = Entries(device: device)
        for number in 1...UInt64(transactionCount) { await script.step(number, outbox, entries) }
        return script
    }

    private mutating func step(_ number: UInt64, _ outbox: SQLiteOutbox, _ entries: Entries) async {
        let appended = (1...3).map { number * 10 + $0 }
        let settled = number > 1 ? (number - 1) * 10 + 1 : nil
        let transaction = entries.transaction {
            $0.appended = appended.map { entries.entry($0, String(repeating: "\($0)", count: 200)) }
            if let settled { $0.outcomes = [entries.outcome(settled, .accepted(offset: settled))] }
            $0.cursors = ["a": RoomCursor(offset: number)]
        }
        mayHaveCursor = number
        do {
            try await outbox.commit(transaction)
            for counter in appended { messages[counter] = Message(isAppended: true) }
            if let settled, messages[settled]?.isAppended == true { messages[settled]!.settled = true }
            cursor = number
        } catch {
            errors.append(error)
            for counter in appended { messages[counter] = Message(isAppended: false) }
            if let settled, messages[settled]?.isAppended == true { messages[settled]!.settled = false }
        }
    }

    /// A transaction of which a part is stored; nil if there is none. The cursor is the number of the last one.
    private static func parts(of state: OutboxState, upTo cursor: UInt64) -> String? {
        let stored = Set((state.pending.map(\.id) + state.outcomes.map(\.id)).map(\.counter))
        if cursor > 0, !(1...3).allSatisfy({ stored.contains(cursor * 10 + $0) }) {
            return "the cursor of transaction \(cursor) is stored without its messages"
        }
        let later = stored.first { $0 / 10 > cursor }
        return later.map { "message \($0) is stored without the cursor of its transaction" }
    }

    /// The first contradiction between a state and the acknowledged transactions; nil if there is none.
    func fault(in state: OutboxState) -> String? {
        let pending = Dictionary(uniqueKeysWithValues: state.pending.map { ($0.id.counter, $0.content.text ?? "") })
        for (counter, message) in messages {
            if message.isAppended, message.settled == nil, pending[counter] == nil { return "\(counter) is lost" }
            if message.settled == true, pending[counter] != nil { return "\(counter) has lost its outcome" }
            if let text = pending[counter], text != String(repeating: "\(counter)", count: 200) {
                return "\(counter) has another content"
            }
        }
        if pending.keys.contains(where: { messages[$0] == nil }) { return "an unknown message" }
        if let highest = messages.keys.max(), messages[highest]!.isAppended, state.nextCounter <= highest {
            return "the counter is used again"
        }
        let found = state.cursors["a"]?.offset ?? 0
        if let fault = Self.parts(of: state, upTo: found) { return fault }
        return (cursor...max(cursor, mayHaveCursor)).contains(found) ? nil : "the cursor is \(found), not \(cursor)"
    }
}
