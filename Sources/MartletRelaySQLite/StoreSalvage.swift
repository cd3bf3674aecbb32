import MartletDatabase
import MartletLink
import MartletWire

/// The damage of a store's file.
enum StoreDamage {
    /// The file is missing or empty, although the store was complete at an earlier time.
    case empty
    /// SQLite reports damage.
    case structure
    /// Synced transactions in the log are lost: the file is an earlier state of the store.
    case log
    /// SQLite reports damage of a copy, which is an earlier state of a store.
    case copy
}

/// Sets a damaged file aside, and copies its readable rooms to a new file (R-70, Specs/hostile.md row 63). The states
/// of the directory are those of `FileReplacement`.
enum StoreSalvage {
    /// The parts of a damaged file that were copied or lost.
    private struct Report: Equatable {
        var savedRoomCount = 0
        var lostRoomCount = 0
        var lostRolesCount = 0
        /// Whether each room that had roles is known.
        var hasAllRoles = false
    }

    /// Writes a new file, renames the damaged one, and puts the new one in its place.
    ///
    /// - Throws: Any error other than damage, such as a full disk (Specs/hostile.md row 71).
    static func setAside(
        _ path: String, _ damage: StoreDamage, _ options: Database.Options, at now: UInt64
    ) throws -> StoreEvent {
        let replacement = FileReplacement(path: path)
        // A copy does not count as complete while the original file exists.
        if damage == .empty { FileLock.createPrivately(path) }
        let report = try replacement.copy { try copy(from: path, damage, to: replacement.partial, options) }
        try replacement.replace(at: now)
        return .setAside(
            path: replacement.aside(at: now), savedRoomCount: report.savedRoomCount,
            lostRoomCount: report.lostRoomCount, lostRolesCount: report.lostRolesCount)
    }

    private static func copy(
        from path: String, _ damage: StoreDamage, to target: String, _ options: Database.Options
    ) throws -> Report {
        let copy = try StoreImport(path: target, isBranching: damage != .structure, options: options)
        var report = Report()
        if damage != .empty,
            let source = try DatabaseError.unlessDamaged({ try StoreContents(path: path, options: options) })
        {
            let rooms = try source.readableRooms()
            for room in rooms {
                if try save(room, from: source, to: copy) {
                    report.savedRoomCount += 1
                } else {
                    report.lostRoomCount += 1
                }
            }
            report.lostRolesCount = try saveRoles(of: rooms, from: source, damage, to: copy)
            report.hasAllRoles = try damage != .log && source.hasAllRoles() && !source.isMarked()
            for record in try source.salvagedRecords() { try copy.add(record) }
        }
        if !report.hasAllRoles { try copy.add(.unknownRoles) }
        try copy.complete()
        return report
    }

    /// Copies a room with all its parts. Returns false if a part of it is damaged.
    private static func save(_ room: RoomName, from source: StoreContents, to copy: StoreImport) throws -> Bool {
        var isFound = false
        do {
            try source.forEachRecord(of: room) { record in
                isFound = true
                try copy.add(record)
            }
            try copy.endRoom()
            return isFound
        } catch {
            copy.discardRoom()
            // An error of the new file, such as a full disk, is not damage of the old file.
            if let error = error as? DatabaseError, !error.isDamage { throw error }
            return false
        }
    }

    /// Copies the roles of all rooms. A room whose roles are lost has roles that are not valid, so that it is refused
    /// and not opened to everyone. Returns the number of these rooms.
    private static func saveRoles(
        of rooms: [RoomName], from source: StoreContents, _ damage: StoreDamage, to copy: StoreImport
    ) throws -> Int {
        var lostCount = 0
        let withRoles = try source.readableRoomsWithRoles()
        let known = Set(withRoles)
        for room in withRoles + rooms.filter({ !known.contains($0) }) {
            switch try source.salvagedRoles(of: room, isExpected: known.contains(room)) {
            case .none: break
            case .saved(let record) where damage != .log: try copy.add(record)
            case .saved, .lost:
                lostCount += 1
                try copy.add(.roles(room, StoreSchema.lostRoles, creator: nil))
            }
        }
        return lostCount
    }
}
