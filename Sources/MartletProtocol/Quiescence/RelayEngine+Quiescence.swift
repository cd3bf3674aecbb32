extension RelayEngine {
    /// What is left over although every device is connected and has everything.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("relay")
        check.equal("connections counted", counted.connections, connections.count)
        check.equal("links counted", counted.links, links.count)
        check.equal("links counted as suspended", suspendedCount, 0)
        check.empty("messages to other loops", count: departing.reduce(0) { $0 + $1.count })
        for slot in connections.slots where connections.isLive(slot) {
            check.unset("a connection's incomplete frame", connections[slot].partialSince)
            check.unset("a connection that was asked for bytes", connections[slot].transmitAskedAt)
        }
        for slot in links.slots {
            if let link = links.find(slot) { check.add(link.quiescence()) }
        }
        for index in rooms.rooms.slots {
            if let room = rooms.rooms.find(index) { check.add(room.quiescence()) }
        }
        return check
    }

    /// The credit of a device's link; nil when there is none.
    package func creditTable(of who: DeviceKey) -> CreditTable? {
        for slot in links.slots {
            if let link = links.find(slot), link.who == who { return CreditTable(link.link) }
        }
        return nil
    }

}

extension RelayLink {
    fileprivate func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("device \(who.device)")
        check.add(link.quiescence())
        check.empty("connections", count: connection == nil ? 1 : 0)
        check.equal("sessions", link.sessionCount, sessions.values.count)
        check.equal("bytes held before a room is loaded", heldByteCount, 0)
        check.equal("sessions held back", isHoldingBack, false)
        check.equal("memory that an idle link does not need", hasIdleMemory, false)
        for membership in sessions.values {
            check.empty("sessions that wait for their room", count: membership.handle == nil ? 1 : 0)
            check.equal("memory for frames before a room is loaded", membership.heldFrames.isAllocated, false)
            check.equal("marks", membership.isSuspended || membership.isHeldBack, false)
        }
        return check
    }
}
