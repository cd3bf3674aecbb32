import MartletLink
import MartletWire

/// The cursors of rooms, by name. Beyond a bound the least recently used ones are removed (C-84,
/// Specs/hostile.md row 72).
struct RoomCursors: Sendable {
    /// The maximum number of cursors, unless more rooms are in use.
    static let maxCount = 65_536
    /// The part of the maximum that is removed at once.
    private static let removedPart = 16

    private struct Entry: Sendable {
        var cursor: RoomCursor?
        /// The number of the last use.
        var use: UInt64
    }

    private let maxCount: Int
    private var entries: [RoomName: Entry]
    private var lastUse: UInt64 = 0

    init(_ cursors: [RoomName: RoomCursor] = [:], maxCount: Int = Self.maxCount) {
        self.maxCount = maxCount
        entries = cursors.mapValues { Entry(cursor: $0, use: 0) }
    }

    subscript(room: RoomName) -> RoomCursor? { entries[room]?.cursor }

    var all: [RoomName: RoomCursor] { entries.compactMapValues(\.cursor) }

    /// Advances the cursor of a room. Returns whether it has changed.
    ///
    /// - Parameter used: The names of the rooms whose cursors are kept, if cursors must be removed.
    @discardableResult
    mutating func advance(_ room: RoomName, to cursor: RoomCursor, keeping used: () -> Set<RoomName>) -> Bool {
        lastUse += 1
        let before = entries[room]?.cursor
        entries[room, default: Entry(cursor: nil, use: lastUse)].cursor.advance(to: cursor)
        entries[room]?.use = lastUse
        if before == nil, entries.count > maxCount { removeLeastRecentlyUsed(keeping: used().union([room])) }
        return entries[room]?.cursor != before
    }

    private mutating func removeLeastRecentlyUsed(keeping used: Set<RoomName>) {
        let unused = entries.filter { !used.contains($0.key) }.sorted {
            ($0.value.use, $0.key) < ($1.value.use, $1.key)
        }
        let surplus = entries.count - maxCount + maxCount / Self.removedPart
        for (room, _) in unused.prefix(surplus) { entries[room] = nil }
    }
}
