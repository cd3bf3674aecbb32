import Martlet
import MartletDatabase
import MartletWire

/// The account's list of rooms, as the relay has reported it last.
///
/// | state of a room | left by |
/// |---|---|
/// | unlisted: the relay's list never had it, or it was opened after it was left | the relay lists it |
/// | joined, invited | the relay reports its removal, or a list without it: left |
/// | left: it is not listed | the relay lists it; it is opened, to unlisted |
final class ListTable {
    private let upsert: Statement
    private let listed: Statement
    private let leave: Statement
    private let enter: Statement
    private let summary: Statement
    private let replace: Statement
    private let path: String

    init(_ database: Database) throws {
        path = database.path
        upsert = try database.prepare(
            """
            INSERT INTO room (name, membership, summary) VALUES (?1, ?2, ?3)
            ON CONFLICT (name) DO UPDATE SET membership = ?2, summary = ?3
            """)
        listed = try database.prepare(
            """
            SELECT name FROM room
            WHERE membership IN (\(TimelineSchema.joined), \(TimelineSchema.invited))
            """)
        leave = try database.prepare(
            "UPDATE room SET membership = \(TimelineSchema.left), summary = NULL WHERE name = ?")
        enter = try database.prepare(
            """
            UPDATE room SET membership = \(TimelineSchema.unlisted)
            WHERE name = ? AND membership = \(TimelineSchema.left)
            """)
        summary = try database.prepare("SELECT summary FROM room WHERE id = ? AND summary IS NOT NULL")
        replace = try database.prepare("UPDATE room SET summary = ? WHERE id = ?")
    }

    /// Removes the last message of a room from its entry, because a deletion may concern it (M-29). The file has the
    /// message itself, unless the relay's list is ahead of it.
    func removeMessage(of room: Int64, upTo offset: Int64) throws {
        summary.bind(1, room)
        defer { summary.reset() }
        guard try summary.step(), let listed = RoomSummary(bytes: summary.bytes(0)), listed.lastMessage != nil,
            listed.lastOffset <= UInt64(clamping: offset)
        else { return }
        replace.bind(1, listed.withoutMessage?.bytes)
        replace.bind(2, room)
        try replace.run()
    }

    /// Returns the changed rooms.
    func apply(_ update: RoomListUpdate) throws -> [RoomName] {
        switch update {
        case .list(let rooms):
            var changed = rooms.map(\.name)
            let names = Set(rooms.map(\.name))
            var missing: [RoomName] = []
            while try listed.step() {
                guard let name = RoomName(listed.text(0)) else { throw DatabaseError.corrupt(path: path) }
                if !names.contains(name) { missing.append(name) }
            }
            for name in missing { try leave(name) }
            for room in rooms { try store(room) }
            changed += missing
            return changed
        case .changed(let room):
            try store(room)
            return [room.name]
        case .removed(let room):
            try leave(room)
            return [room]
        }
    }

    func enter(_ name: RoomName) throws {
        enter.bind(1, name.text)
        try enter.run()
    }

    private func store(_ room: RoomSummary) throws {
        upsert.bind(1, room.name.text)
        upsert.bind(2, room.isJoined ? TimelineSchema.joined : TimelineSchema.invited)
        upsert.bind(3, room.bytes)
        try upsert.run()
    }

    private func leave(_ name: RoomName) throws {
        leave.bind(1, name.text)
        try leave.run()
    }
}
