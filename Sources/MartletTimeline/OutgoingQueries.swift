import MartletDatabase
import MartletWire

/// The queries of a timeline for outgoing messages.
final class OutgoingQueries {
    private let entries: Statement
    private let changes: Statement
    private let accepted: Statement
    private let path: String

    init(_ database: Database) throws {
        path = database.path
        entries = try database.prepare(
            "SELECT sender, device, counter, state, failure FROM entry WHERE room = ? AND state <> 0 ORDER BY counter")
        changes = try database.prepare(
            """
            SELECT sender, device, counter FROM change
            WHERE room = ? AND generation = \(TimelineSchema.pendingGeneration) ORDER BY counter
            """)
        let own = "room = ?1 AND sender = ?2 AND device = ?3 AND counter = ?4"
        accepted = try database.prepare(
            """
            SELECT 1 FROM entry WHERE \(own) AND state = 0 UNION ALL
            SELECT 1 FROM change WHERE \(own) AND generation < \(TimelineSchema.pendingGeneration)
            """)
    }

    func unsettled(_ room: Int64) throws -> [UnsettledMessage] {
        entries.bind(1, room)
        changes.bind(1, room)
        defer {
            entries.reset()
            changes.reset()
        }
        var messages: [UnsettledMessage] = []
        while try entries.step() {
            let intent: OutgoingStep.Intent? =
                switch entries.int64(3) {
                case TimelineSchema.retrying: .retry
                case TimelineSchema.removing: .removal
                default: nil
                }
            messages.append(
                UnsettledMessage(id: try identity(entries), hasFailed: !entries.isNull(4), intent: intent))
        }
        while try changes.step() {
            messages.append(UnsettledMessage(id: try identity(changes), hasFailed: false, intent: nil))
        }
        return messages
    }

    private func identity(_ row: Statement) throws -> MessageID {
        guard let sender = AccountName(row.text(0)), row.uint64(2) > 0 else { throw DatabaseError.corrupt(path: path) }
        return MessageID(sender: sender, device: DeviceID(rawValue: row.uint64(1)), counter: row.uint64(2))
    }

    /// The messages that the relay has accepted, as entries or as changes.
    func accepted(_ ids: [MessageID], _ room: Int64) throws -> Set<MessageID> {
        var found: Set<MessageID> = []
        for id in ids {
            accepted.bind(1, room)
            accepted.bind(identity: id, from: 2)
            if try accepted.firstInt64() != nil { found.insert(id) }
        }
        return found
    }
}
