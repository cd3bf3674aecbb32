import Martlet
import MartletDatabase
import MartletLink
import MartletSQLite
import MartletWire

/// A place in a room: the generation of a log, and the offset in it.
struct EntryPlace {
    var generation: Int64
    var position: Int64

    /// The place of a message without an acceptance. A device's counters ascend.
    static func pending(_ id: MessageID) -> EntryPlace {
        EntryPlace(generation: TimelineSchema.pendingGeneration, position: Int64(clamping: id.counter))
    }
}

/// The statements of a timeline on its entries and their changes.
///
/// | state of an entry | left by |
/// |---|---|
/// | pending, behind all accepted entries | the same message from the relay, or its outcome |
/// | failed, at the same place | its removal; a retry |
/// | retrying, a failed entry | `replace`; `unmark` |
/// | removing, a pending or failed entry | its removal; `unmark` |
/// | accepted, at the place of its outcome | the same message from the relay, which has the place that counts |
/// | accepted, at a place of a log | a deletion, which erases the content; `clear` |
final class EntryTables {
    let changes: ChangeTables
    private let account: AccountName
    private let insert: Statement
    private let find: Statement
    private let place: Statement
    private let setContent: Statement
    private let fail: Statement
    private let mark: Statement
    private let unmark: Statement
    private let identify: Statement
    private let remove: Statement
    private let erase: Statement
    private let marker: Statement

    init(_ database: Database, account: AccountName) throws {
        self.account = account
        changes = try ChangeTables(database)
        let own = "room = ?1 AND sender = ?2 AND device = ?3 AND counter = ?4"
        insert = try database.prepare(
            """
            INSERT OR IGNORE INTO entry (
                room, sender, device, counter, generation, position, accepted_at, kind, content, text, state, is_read,
                terms)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        find = try database.prepare(
            "SELECT generation, state, flags, kind, content, position, accepted_at FROM entry WHERE \(own)")
        place = try database.prepare(
            """
            UPDATE entry SET generation = ?5, position = ?6, accepted_at = coalesce(?7, accepted_at), state = 0,
                flags = ?8, failure = NULL, failure_code = NULL, failure_reason = NULL
            WHERE \(own)
            """)
        setContent = try database.prepare("UPDATE entry SET kind = ?5, content = ?6 WHERE \(own)")
        fail = try database.prepare(
            """
            UPDATE entry SET state = 2, failure = ?5, failure_code = ?6, failure_reason = ?7
            WHERE \(own) AND state <> 0
            """)
        mark = try database.prepare("UPDATE entry SET state = ?5 WHERE \(own) AND state <> 0")
        unmark = try database.prepare(
            """
            UPDATE entry SET state = CASE WHEN failure IS NULL THEN \(TimelineSchema.pending)
                ELSE \(TimelineSchema.failed) END
            WHERE \(own) AND state IN (\(TimelineSchema.retrying), \(TimelineSchema.removing))
            """)
        identify = try database.prepare(
            """
            UPDATE entry SET device = ?5, counter = ?6, position = ?7, state = \(TimelineSchema.pending),
                failure = NULL, failure_code = NULL, failure_reason = NULL
            WHERE \(own) AND state <> 0
            """)
        remove = try database.prepare("DELETE FROM entry WHERE \(own) AND state <> 0")
        erase = try database.prepare("DELETE FROM entry WHERE \(own)")
        marker = try database.prepare(
            "SELECT count(*) FROM entry WHERE room = ? AND sender = '' AND kind = ? AND content = ?")
    }

    private struct Found {
        let place: EntryPlace
        let time: UInt64?
        let state: Int64
        let flags: Int64
        let kind: Int64
        let content: [UInt8]

        var isPending: Bool { place.generation == TimelineSchema.pendingGeneration }
    }

    private func found(_ id: MessageID, _ room: Int64) throws -> Found? {
        find.bind(1, room)
        find.bind(identity: id, from: 2)
        defer { find.reset() }
        guard try find.step() else { return nil }
        return Found(
            place: EntryPlace(generation: find.int64(0), position: find.int64(5)), time: find.optionalUInt64(6),
            state: find.int64(1), flags: find.int64(2), kind: find.int64(3), content: find.bytes(4))
    }

    // MARK: Messages of a log

    /// Stores a message of the log, or confirms one that this device has sent. The log determines place, time and
    /// content.
    func store(
        _ id: MessageID, _ content: MessageContent, at place: EntryPlace, time: UInt64, _ room: Int64, isModerator: Bool
    ) throws {
        guard let found = try found(id, room) else {
            if try changes.confirm(id, at: place, isOfLog: true, room) { return }
            return try insert(
                id, content, at: place, time: time, room, state: TimelineSchema.accepted, isModerator: isModerator)
        }
        if content.kind == .erased, found.kind != Int64(ContentKind.erased.rawValue) {
            try replaceContent(of: id, found, content, room)
            changes.hasErased = true
        }
        // A relay whose log was replaced can have accepted the message again, behind the branch.
        let isMoved = found.place.generation < place.generation && found.place.position != place.position
        guard found.isPending || isMoved || found.flags & TimelineSchema.placedByOutcome != 0 else { return }
        let kept = ~(TimelineSchema.placedByOutcome | TimelineSchema.withoutOffset)
        try setPlace(id, place, time: time, flags: found.flags & kept, room)
        guard found.flags & TimelineSchema.deleted == 0 else { return }
        try replaceContent(of: id, found, content, room)
    }

    private func setPlace(_ id: MessageID, _ place: EntryPlace, time: UInt64?, flags: Int64, _ room: Int64) throws {
        self.place.bind(1, room)
        self.place.bind(identity: id, from: 2)
        self.place.bind(5, place.generation)
        self.place.bind(6, place.position)
        self.place.bind(7, time)
        self.place.bind(8, flags)
        try self.place.run()
    }

    private func replaceContent(
        of id: MessageID, _ found: Found, _ content: MessageContent, _ room: Int64
    ) throws {
        let kind = Int64(content.kind.rawValue)
        guard found.kind != kind || found.content != content.bytes else { return }
        setContent.bind(1, room)
        setContent.bind(identity: id, from: 2)
        setContent.bind(5, kind)
        setContent.bind(6, content.bytes)
        try setContent.run()
        try changes.refresh(id, room)
    }

    private func insert(
        _ id: MessageID, _ content: MessageContent, at place: EntryPlace, time: UInt64, _ room: Int64, state: Int64,
        isModerator: Bool
    ) throws {
        let body = try? MessageBody(content)
        if content.kind.isChange {
            // A damaged change, and one that does not count, is ignored (M-1, M-9).
            guard let body, let change = MessageChange(body, by: id.sender, isModerator: isModerator) else { return }
            try changes.store(change, id, at: place, room)
            return
        }
        insert.bind(1, room)
        insert.bind(identity: id, from: 2)
        // A message whose deletion was stored before is never written.
        let isErased = try changes.isErased(id, room)
        let text = isErased ? nil : body?.searchText
        insert.bind(13, text.flatMap { body?.searchTerms(of: $0) })
        try run(
            insert, place, time: time, kind: Int64(content.kind.rawValue), isErased ? [] : content.bytes, text: text,
            state,
            isRead: id.sender == account || !content.kind.countsAsUnread)
        try changes.claim(id, room)
        if content.kind == .erased { try changes.refresh(id, room) }
    }

    private func run(
        _ insert: Statement, _ place: EntryPlace, time: UInt64?, kind: Int64, _ content: [UInt8], text: String?,
        _ state: Int64, isRead: Bool
    ) throws {
        insert.bind(5, place.generation)
        insert.bind(6, place.position)
        insert.bind(7, time)
        insert.bind(8, kind)
        insert.bind(9, content)
        insert.bind(10, text)
        insert.bind(11, state)
        insert.bind(12, isRead ? 1 : 0 as Int64)
        try insert.run()
    }

    // MARK: Entries other than messages

    /// Stores a gap or a replaced log.
    func mark(_ kind: Int64, _ content: [UInt8], counter: UInt64, at place: EntryPlace, _ room: Int64) throws {
        insert.bind(1, room)
        insert.bind(2, "")
        insert.bind(3, place.generation)
        insert.bind(4, counter)
        insert.bindNull(13)
        try run(insert, place, time: nil, kind: kind, content, text: nil, TimelineSchema.accepted, isRead: true)
    }

    func hasMark(_ kind: Int64, _ content: [UInt8], _ room: Int64) throws -> Bool {
        marker.bind(1, room)
        marker.bind(2, kind)
        marker.bind(3, content)
        return try marker.firstInt64() != 0
    }

    // MARK: Outgoing messages

    /// Stores a message without an outcome. One that has not been accepted receives the content, and is pending again.
    func add(_ id: MessageID, _ content: MessageContent, time: UInt64, _ room: Int64, isModerator: Bool) throws {
        if let found = try found(id, room) {
            guard found.isPending, found.state != TimelineSchema.accepted else { return }
            guard content.kind.isChange else {
                if found.state != TimelineSchema.pending {
                    identify.bind(1, room)
                    identify.bind(identity: id, from: 2)
                    try identify(as: id)
                }
                return try replaceContent(of: id, found, content, room)
            }
            try remove(id, room)
        }
        guard try !changes.contains(id, room) else { return }
        try insert(
            id, content, at: .pending(id), time: time, room, state: TimelineSchema.pending, isModerator: isModerator)
    }

    private func identify(as id: MessageID) throws {
        identify.bind(5, id.device.rawValue)
        identify.bind(6, id.counter)
        identify.bind(7, EntryPlace.pending(id).position)
        try identify.run()
    }

    /// Stores an acceptance. A message that was received from the log keeps its place.
    ///
    /// - Parameter hasOffset: Whether the place is that of the message.
    func accept(_ id: MessageID, at place: EntryPlace, hasOffset: Bool, _ room: Int64) throws {
        guard let found = try found(id, room) else {
            _ = try changes.confirm(id, at: place, isOfLog: false, room)
            return
        }
        guard found.isPending || hasOffset && found.flags & TimelineSchema.withoutOffset != 0 else { return }
        let flags = TimelineSchema.placedByOutcome | (hasOffset ? 0 : TimelineSchema.withoutOffset)
        try setPlace(id, place, time: nil, flags: found.flags & ~TimelineSchema.withoutOffset | flags, room)
    }

    /// Stores a failure. A change that has failed is removed.
    func fail(_ id: MessageID, _ failure: SendFailure, _ room: Int64) throws {
        try changes.remove(id, room)
        let (kind, code, reason) = failure.columns
        fail.bind(1, room)
        fail.bind(identity: id, from: 2)
        fail.bind(5, kind)
        fail.bind(6, code)
        fail.bind(7, reason)
        try fail.run()
    }

    /// Marks a message without an acceptance as one that is being sent again or removed.
    func mark(_ id: MessageID, _ state: Int64, _ room: Int64) throws {
        mark.bind(1, room)
        mark.bind(identity: id, from: 2)
        mark.bind(5, state)
        try mark.run()
    }

    /// Removes the mark of a message.
    func unmark(_ id: MessageID, _ room: Int64) throws {
        unmark.bind(1, room)
        unmark.bind(identity: id, from: 2)
        try unmark.run()
    }

    /// Gives a failed message another identity, under which it is pending, or accepted if the log has it.
    func replace(
        _ id: MessageID, by new: MessageID, _ content: MessageContent, time: UInt64, _ room: Int64, isModerator: Bool
    ) throws {
        let known = try found(new, room)
        let accepted = known?.isPending == true ? nil : known
        guard let failed = try found(id, room), failed.isPending else {
            try changes.remove(id, room)
            return try add(new, content, time: time, room, isModerator: isModerator)
        }
        if known != nil {
            erase.bind(1, room)
            erase.bind(identity: new, from: 2)
            try erase.run()
        }
        identify.bind(1, room)
        identify.bind(identity: id, from: 2)
        try identify(as: new)
        if let accepted {
            try setPlace(new, accepted.place, time: accepted.time, flags: accepted.flags, room)
        }
        try changes.refresh(new, room)
    }

    /// Removes a message that was not accepted.
    func remove(_ id: MessageID, _ room: Int64) throws {
        remove.bind(1, room)
        remove.bind(identity: id, from: 2)
        try remove.run()
        changes.hasErased = true
        try changes.remove(id, room)
    }
}
