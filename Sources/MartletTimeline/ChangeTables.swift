import Martlet
import MartletDatabase
import MartletLink
import MartletWire

/// The stored changes, and their effects on the entries.
///
/// Each change that counts is a row until a later one of its slot is accepted. The slot of a message is its text, its
/// deletion, or the reaction of an account. A pending change follows all accepted ones, so its removal restores the
/// state before it.
final class ChangeTables {
    /// The maximum number of changes of a room whose messages are unknown. Beyond it, the one with the lowest place is
    /// dropped (M-13).
    static let maxWaitingCount = 4096

    private let rows: ChangeRows
    private let insert: Statement
    private let confirmed: Statement
    private let exists: Statement
    private let target: Statement
    private let delete: Statement
    private let prune: Statement
    private let surplus: Statement
    private let claimed: Statement
    private let waiting: Statement
    private let waitingCount: Statement
    private let dropWaiting: Statement
    private let entry: Statement
    private let setFlags: Statement
    private let setText: Statement
    private let erase: Statement
    private let eraseChanges: Statement
    private let erased: Statement
    private let database: Database
    /// Whether content was erased that the index, the log of the database and free pages may still have.
    var hasErased = false

    init(_ database: Database) throws {
        self.database = database
        let own = "room = ?1 AND sender = ?2 AND device = ?3 AND counter = ?4"
        let targeted = "room = ?1 AND target_sender = ?2 AND target_device = ?3 AND target_counter = ?4"
        let accepted = "generation < \(TimelineSchema.pendingGeneration)"
        rows = try ChangeRows(database)
        insert = try database.prepare(
            """
            INSERT OR REPLACE INTO change (
                room, sender, device, counter, target_sender, target_device, target_counter, generation, position,
                slot, effect, text)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        confirmed = try database.prepare(
            """
            UPDATE change SET generation = ?5, position = ?6
            WHERE \(own) AND (generation = \(TimelineSchema.pendingGeneration)
                OR (?7 AND generation = ?5 AND position <> ?6))
            """)
        exists = try database.prepare("SELECT 1 FROM change WHERE \(own)")
        target = try database.prepare(
            "SELECT target_sender, target_device, target_counter, slot FROM change WHERE \(own)")
        delete = try database.prepare(
            "DELETE FROM change WHERE \(own) AND generation = \(TimelineSchema.pendingGeneration)")
        prune = try database.prepare(
            """
            DELETE FROM change WHERE \(targeted) AND slot = ?5 AND \(accepted) AND (generation, position) < (
                SELECT generation, position FROM change WHERE \(targeted) AND slot = ?5 AND \(accepted)
                ORDER BY generation DESC, position DESC LIMIT 1)
            """)
        surplus = try database.prepare(
            """
            DELETE FROM change WHERE \(targeted) AND effect >= \(TimelineSchema.reaction) AND (generation, position) < (
                SELECT generation, position FROM change
                WHERE \(targeted) AND effect >= \(TimelineSchema.reaction)
                ORDER BY generation DESC, position DESC LIMIT 1 OFFSET \(MessageEffects.maxReactionCount - 1))
            """)
        claimed = try database.prepare("UPDATE change SET is_waiting = 0 WHERE \(targeted)")
        waiting = try database.prepare("UPDATE change SET is_waiting = 1 WHERE \(own)")
        waitingCount = try database.prepare("SELECT count(*) FROM change WHERE room = ? AND is_waiting = 1")
        dropWaiting = try database.prepare(
            """
            DELETE FROM change WHERE room = ?1 AND is_waiting = 1 AND (generation, position) = (
                SELECT generation, position FROM change WHERE room = ?1 AND is_waiting = 1
                ORDER BY generation, position LIMIT 1)
            """)
        entry = try database.prepare("SELECT id, kind, content, text, flags, terms FROM entry WHERE \(own)")
        setFlags = try database.prepare("UPDATE entry SET flags = ? WHERE id = ?")
        setText = try database.prepare("UPDATE entry SET text = ?, terms = ? WHERE id = ?")
        erase = try database.prepare("UPDATE entry SET content = x'' WHERE id = ?")
        let isDeletion = "effect = \(TimelineSchema.deletion) AND \(accepted)"
        eraseChanges = try database.prepare(
            """
            DELETE FROM change WHERE \(targeted) AND effect <> \(TimelineSchema.deletion) AND \(accepted)
                AND EXISTS (SELECT 1 FROM change WHERE \(targeted) AND \(isDeletion))
            """)
        erased = try database.prepare("SELECT 1 FROM change WHERE \(targeted) AND \(isDeletion) LIMIT 1")
    }

    /// Stores a change, and updates its target.
    func store(_ change: MessageChange, _ id: MessageID, at place: EntryPlace, _ room: Int64) throws {
        let (effect, slot, text) = Self.columns(of: change)
        insert.bind(1, room)
        insert.bind(identity: id, from: 2)
        insert.bind(identity: change.target, from: 5)
        insert.bind(8, place.generation)
        insert.bind(9, place.position)
        insert.bind(10, slot)
        insert.bind(11, effect)
        insert.bind(12, text)
        try insert.run()
        try settle(change.target, slot: slot, room)
        guard try !refresh(change.target, room) else { return }
        waiting.bind(1, room)
        waiting.bind(identity: id, from: 2)
        try waiting.run()
        waitingCount.bind(1, room)
        guard try waitingCount.firstInt64() ?? 0 > Self.maxWaitingCount else { return }
        dropWaiting.bind(1, room)
        try dropWaiting.run()
    }

    /// Gives a pending change its place, or the place of the log to one that its outcome has placed. Returns whether
    /// the change is known.
    func confirm(_ id: MessageID, at place: EntryPlace, isOfLog: Bool, _ room: Int64) throws -> Bool {
        confirmed.bind(1, room)
        confirmed.bind(identity: id, from: 2)
        confirmed.bind(5, place.generation)
        confirmed.bind(6, place.position)
        confirmed.bind(7, isOfLog ? 1 : 0 as Int64)
        try confirmed.run()
        guard database.changedRowCount > 0 else { return try contains(id, room) }
        guard let (target, slot) = try target(of: id, room) else { return true }
        try settle(target, slot: slot, room)
        try refresh(target, room)
        return true
    }

    /// Removes a pending change, which restores what it has replaced.
    func remove(_ id: MessageID, _ room: Int64) throws {
        guard let (target, _) = try target(of: id, room) else { return }
        delete.bind(1, room)
        delete.bind(identity: id, from: 2)
        try delete.run()
        try refresh(target, room)
    }

    func contains(_ id: MessageID, _ room: Int64) throws -> Bool {
        exists.bind(1, room)
        exists.bind(identity: id, from: 2)
        return try exists.firstInt64() != nil
    }

    /// Applies the changes that have waited for a message (M-13).
    func claim(_ id: MessageID, _ room: Int64) throws {
        claimed.bind(1, room)
        claimed.bind(identity: id, from: 2)
        try claimed.run()
        if database.changedRowCount > 0 { try refresh(id, room) }
    }

    // MARK: Effects

    private static func columns(of change: MessageChange) -> (effect: Int64, slot: String, text: String) {
        switch change.effect {
        case .edit(let text): (TimelineSchema.edit, "e", text)
        case .deletion: (TimelineSchema.deletion, "d", "")
        case .reaction(let text, let isRemoved):
            (
                isRemoved ? TimelineSchema.removal : TimelineSchema.reaction, "r\(change.author.text)\u{0}\(text)", text
            )
        }
    }

    private func target(of id: MessageID, _ room: Int64) throws -> (MessageID, slot: String)? {
        target.bind(1, room)
        target.bind(identity: id, from: 2)
        defer { target.reset() }
        guard try target.step(), let sender = AccountName(target.text(0)), target.uint64(2) > 0 else { return nil }
        let id = MessageID(
            sender: sender, device: DeviceID(rawValue: target.uint64(1)), counter: target.uint64(2))
        return (id, target.text(3))
    }

    /// Whether the relay has stored a deletion of a message.
    func isErased(_ target: MessageID, _ room: Int64) throws -> Bool {
        erased.bind(1, room)
        erased.bind(identity: target, from: 2)
        return try erased.firstInt64() != nil
    }

    /// Removes the accepted changes of a slot before its latest one, reactions beyond their bound, and all other
    /// changes of a message that was deleted (M-10, M-12, M-5).
    private func settle(_ target: MessageID, slot: String, _ room: Int64) throws {
        prune.bind(1, room)
        prune.bind(identity: target, from: 2)
        prune.bind(5, slot)
        try prune.run()
        eraseChanges.bind(1, room)
        eraseChanges.bind(identity: target, from: 2)
        try eraseChanges.run()
        if database.changedRowCount > 0 { hasErased = true }
        guard slot.hasPrefix("r") else { return }
        surplus.bind(1, room)
        surplus.bind(identity: target, from: 2)
        try surplus.run()
    }

    /// Updates an entry with the effects of its changes. Returns false if the entry is unknown.
    @discardableResult
    func refresh(_ target: MessageID, _ room: Int64) throws -> Bool {
        entry.bind(1, room)
        entry.bind(identity: target, from: 2)
        guard try entry.step() else { return false }
        let (id, kind, content) = (entry.int64(0), entry.int64(1), entry.bytes(2))
        let (text, flags, terms) = (entry.optionalText(3), entry.int64(4), entry.optionalText(5))
        entry.reset()
        let loaded = try rows.load(target, room: room)
        let own = MessageBody(kind: kind, content: content)
        var newFlags = flags & (TimelineSchema.placedByOutcome | TimelineSchema.withoutOffset)
        let isDeleted = loaded.effects.isDeleted || kind == Int64(ContentKind.erased.rawValue)  // M-37
        if isDeleted { newFlags |= TimelineSchema.deleted }
        var newText = isDeleted ? nil : own?.searchText
        if let edited = loaded.effects.text, own?.isEditable == true {
            newText = edited
            newFlags |= TimelineSchema.edited
        }
        if !loaded.effects.reactions.isEmpty { newFlags |= TimelineSchema.hasReactions }
        if newFlags != flags {
            setFlags.bind(1, newFlags)
            setFlags.bind(2, id)
            try setFlags.run()
        }
        let newTerms = newText.flatMap { own?.searchTerms(of: $0) }
        if newText.map({ Array($0.utf8) }) != text.map({ Array($0.utf8) }) || newTerms != terms {
            setText.bind(1, newText)
            setText.bind(2, newTerms)
            setText.bind(3, id)
            try setText.run()
        }
        if loaded.isErased, !content.isEmpty {
            erase.bind(1, id)
            try erase.run()
            hasErased = true
        }
        return true
    }
}
