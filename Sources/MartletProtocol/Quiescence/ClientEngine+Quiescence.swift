extension ClientEngine {
    /// What is left over although the client is online and everything was accepted, taken and answered.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("client \(configuration.device)")
        check.add(link.quiescence())
        check.unset("a timer of the client's", timers.earliest)
        check.empty("requests without an outcome", count: requests.count)
        check.empty("spare connections", count: machine.spare == nil ? 0 : 1)
        check.equal("sessions of rooms", roomOfSession.count, rooms.count)
        check.equal("sessions", link.sessionCount, rooms.count)
        check.equal("settled", isSettled, true)
        for id in roomIDs {
            if let room = rooms[id] { check.add(room.quiescence()) }
        }
        return check
    }

    /// The credit of the client's link.
    package var creditTable: CreditTable { CreditTable(link) }
}

extension ClientRoom {
    fileprivate func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("room \(name)")
        check.equal("open", isOpen && session != nil, true)
        check.empty("messages that were not accepted", count: pending.count)
        check.equal("messages counted as pending", pendingCount, 0)
        check.equal("bytes counted as pending", pendingByteCount, 0)
        check.equal("messages handed to the session", handed, 0)
        check.equal("held back", isHeldBack, false)
        return check
    }
}
