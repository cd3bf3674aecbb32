import MartletDatabase
import MartletLink
package import MartletWire

/// The part of a room that a view shows.
package struct WindowRequest: Sendable, Equatable {
    /// An end of a window. It follows its entry when the entry moves.
    package struct Anchor: Sendable, Equatable {
        let id: Int64
        /// The place, which is used if the entry is removed.
        let position: TimelineEntry.Position

        package init(_ entry: TimelineEntry) {
            id = entry.id
            position = entry.position
        }
    }

    package let room: RoomName
    /// The first entry; nil if the window begins with the first entry of the room.
    package let first: Anchor?
    /// The last entry; nil if the window ends with the last entry of the room.
    package let last: Anchor?
    package let limit: Int

    package init(room: RoomName, first: Anchor?, last: Anchor?, limit: Int) {
        self.room = room
        self.first = first
        self.last = last
        self.limit = limit
    }
}

/// The entries of a window, and the state of its room, at one instant.
package struct TimelineWindow: Sendable, Equatable {
    /// The entries in ascending order. Beyond the limit they are those at the end of the window, if it ends with the
    /// room, and otherwise those at its start.
    package var entries: [TimelineEntry] = []
    /// Whether the file has entries above and below the window.
    package var hasEarlier = false
    package var hasLater = false
    package var unreadCount = 0
    /// The first known offset of the current log.
    package var earliest: RoomCursor?
}

/// The queries of windows.
final class WindowQueries {
    private let ascending: Statement
    private let descending: Statement
    private let above: Statement
    private let below: Statement
    private let place: Statement
    private let earliest: Statement
    private let byTime: Statement

    init(_ database: Database) throws {
        func window(_ order: String) throws -> Statement {
            try database.prepare(
                """
                SELECT \(EntryRow.columns) FROM entry
                WHERE room = ?1 AND (generation, position, id) >= (?2, ?3, ?4)
                AND (generation, position, id) <= (?5, ?6, ?7)
                ORDER BY generation \(order), position \(order), id \(order) LIMIT ?8
                """)
        }
        func neighbour(_ sign: String) throws -> Statement {
            try database.prepare(
                "SELECT 1 FROM entry WHERE room = ? AND (generation, position, id) \(sign) (?, ?, ?) LIMIT 1")
        }
        ascending = try window("ASC")
        descending = try window("DESC")
        above = try neighbour("<")
        below = try neighbour(">")
        place = try database.prepare("SELECT generation, position, id FROM entry WHERE id = ?")
        earliest = try database.prepare(TimelineSchema.firstPosition)
        byTime = try database.prepare(
            """
            SELECT \(EntryRow.columns) FROM entry WHERE room = ? AND accepted_at >= ?
            ORDER BY accepted_at, position LIMIT 1
            """)
    }

    func rows(
        _ request: WindowRequest, _ room: Int64, _ entries: (Statement) throws -> [TimelineEntry]
    ) throws -> (entries: [TimelineEntry], hasEarlier: Bool, hasLater: Bool) {
        let statement = request.last == nil ? descending : ascending
        statement.bind(1, room)
        bind(statement, 2, try request.first.map(present) ?? .start)
        bind(statement, 5, try request.last.map(present) ?? .end)
        statement.bind(8, Int64(min(max(request.limit, 0), Timeline.maxPageCount)))
        var rows = try entries(statement)
        if request.last == nil { rows.reverse() }
        guard let first = rows.first, let last = rows.last else { return (rows, false, false) }
        return (rows, try exists(above, room, first.position), try exists(below, room, last.position))
    }

    /// The current place of an entry, which may have moved.
    private func present(_ anchor: WindowRequest.Anchor) throws -> TimelineEntry.Position {
        place.bind(1, anchor.id)
        defer { place.reset() }
        guard try place.step() else { return anchor.position }
        return TimelineEntry.Position(generation: place.int64(0), offset: place.int64(1), id: place.int64(2))
    }

    private func exists(_ statement: Statement, _ room: Int64, _ position: TimelineEntry.Position) throws -> Bool {
        statement.bind(1, room)
        bind(statement, 2, position)
        return try statement.firstInt64() != nil
    }

    private func bind(_ statement: Statement, _ index: Int32, _ position: TimelineEntry.Position) {
        statement.bind(index, position.generation)
        statement.bind(index + 1, position.offset)
        statement.bind(index + 2, position.id)
    }

    func earliest(_ room: Int64, generation: Int64) throws -> UInt64? {
        earliest.bind(1, room)
        earliest.bind(2, generation)
        return try earliest.firstInt64().flatMap { UInt64(exactly: $0) }
    }

    func first(acceptedFrom time: UInt64, _ room: Int64) -> Statement {
        byTime.bind(1, room)
        byTime.bind(2, Int64(clamping: time))
        return byTime
    }
}

extension TimelineEntry.Position {
    /// A position above all entries.
    static let start = TimelineEntry.Position(generation: .min, offset: .min, id: .min)
}
