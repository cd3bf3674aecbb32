import MartletDatabase
import MartletLink
import MartletWire

/// The readable parts of a damaged store. Errors other than damage are thrown.
extension StoreContents {
    /// The roles of a room in a damaged store.
    enum SalvagedRoles {
        case none
        case saved(StoreRecord)
        /// The row of the room cannot be read, and may have existed.
        case lost
    }

    /// The names of rooms that can be read, from both ends of the table and of its index.
    func readableRooms() throws -> [RoomName] {
        try readable([
            "SELECT name FROM rooms ORDER BY id", "SELECT name FROM rooms ORDER BY id DESC",
            "SELECT name FROM rooms ORDER BY name", "SELECT name FROM rooms ORDER BY name DESC",
        ])
    }

    /// The names of rooms with roles that can be read, from both ends of the table, and from its index.
    func readableRoomsWithRoles() throws -> [RoomName] {
        try readable([
            "SELECT room FROM roles ORDER BY room", "SELECT room FROM roles ORDER BY room DESC",
            "SELECT room FROM roles INDEXED BY roles_creator WHERE creator IS NOT NULL",
        ])
    }

    /// Whether the table of roles has no damage, so that each room that had roles is known.
    func hasAllRoles() throws -> Bool {
        let isSound = try DatabaseError.unlessDamaged { () -> Bool in
            let check = try database.prepare("PRAGMA integrity_check('roles')")
            defer { check.reset() }
            return try check.step() && check.text(0) == "ok"
        }
        return isSound == true
    }

    /// Whether the store has the mark of lost roles.
    func isMarked() throws -> Bool {
        let marks = try database.prepare("SELECT count(*) FROM roles WHERE room = ?")
        marks.bind(1, StoreSchema.unknownRolesKey)
        return try marks.firstInt64() != 0
    }

    private func readable(_ queries: [String]) throws -> [RoomName] {
        var names: [RoomName] = []
        var known: Set<RoomName> = []
        for query in queries {
            guard let select = try DatabaseError.unlessDamaged({ try database.prepare(query) }) else { continue }
            defer { select.reset() }
            while try DatabaseError.unlessDamaged({ try select.step() }) == true {
                // The mark of lost roles is not a valid name.
                if let name = RoomName(select.text(0)), known.insert(name).inserted { names.append(name) }
            }
        }
        return names
    }

    /// The membership records and the bounds of rooms that can be read, up to the first damage of each table.
    func salvagedRecords() throws -> [StoreRecord] {
        var records: [StoreRecord] = []
        _ = try DatabaseError.unlessDamaged { try forEachMembership { records.append($0) } }
        _ = try DatabaseError.unlessDamaged { try forEachRetention { records.append($0) } }
        return records
    }

    /// The roles of a room.
    ///
    /// - Parameter isExpected: Whether the room is known to have roles.
    func salvagedRoles(of room: RoomName, isExpected: Bool) throws -> SalvagedRoles {
        let found = try DatabaseError.unlessDamaged { () -> SalvagedRoles in
            let select = try database.prepare("SELECT roles, creator FROM roles WHERE room = ?")
            defer { select.reset() }
            select.bind(1, room.text)
            guard try select.step() else { return isExpected ? .lost : .none }
            let creator = select.optionalText(1).flatMap { AccountName($0) }
            return .saved(.roles(room, select.bytes(0), creator: creator))
        }
        return found ?? .lost
    }
}
