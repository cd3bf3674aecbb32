package import MartletWire

extension ClientEngine {
    /// What is left over although the client is online and everything was accepted, taken and answered.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("client \(configuration.device)")
        check.add(link.quiescence())
        check.unset("a timer of the client's", timers.earliest)
        check.empty("requests without an outcome", count: requests.count)
        check.empty("backup connections", count: machine.backup == nil ? 0 : 1)
        check.equal("sessions of rooms", roomOfSession.count, rooms.count)
        check.equal("sessions", link.sessionCount, rooms.count)
        check.equal("settled", isSettled, true)
        for id in roomIDs {
            if let room = rooms[id] { check.add(room.quiescence()) }
        }
        return check
    }

    /// The link that the next hello resumes; nil if it begins a link.
    package var linkID: LinkID? { ticket?.link }

    /// The credit of the client's link.
    package var creditTable: CreditTable { CreditTable(link) }
}

extension ClientRoom {
    fileprivate func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("room \(name)")
        check.equal("open", isOpen && session != nil, true)
        let (count, byteCount) = ledger.withLedger { ($0.pendingCount, $0.pendingByteCount) }
        check.equal("messages counted as pending", count, 0)
        check.equal("bytes counted as pending", byteCount, 0)
        check.equal("held back", isHeldBack, false)
        return check
    }
}
