package import MartletLink
package import MartletWire

extension ClientEngine {
    /// Checks the state that remains while the client is online and all messages and requests have ended.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("client \(configuration.device)")
        check.add(port.link.quiescence())
        check.unset("a timer of the rooms", rooms.deadline)
        check.empty("requests without an outcome", count: rooms.requests.count)
        check.equal("transfers of attachments and their sessions", rooms.attachments.isIdle, true)
        check.empty("backup connections", count: connection.hasBackup ? 1 : 0)
        check.equal("sessions of rooms", rooms.idOfSession.count, rooms.rooms.count)
        check.equal("sessions", port.link.sessionCount, rooms.rooms.count)
        check.equal("bytes of rooms' messages held", rooms.heldByteCount, 0)
        check.equal("settled", isSettled, true)
        for room in rooms.rooms.values { check.add(room.quiescence()) }
        return check
    }

    /// The link that the next hello resumes; nil if it begins a link.
    package var linkID: LinkID? { connection.handshake.linkID }

    /// The credit of the client's link.
    package var creditTable: CreditTable { CreditTable(port.link) }
}

extension ClientRoom {
    fileprivate func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("room \(name)")
        check.equal("open", openSession != nil, true)
        let (count, byteCount) = ledger.withLedger { ($0.pendingCount, $0.pendingByteCount) }
        check.equal("messages counted as pending", count, 0)
        check.equal("bytes counted as pending", byteCount, 0)
        check.equal("bytes of messages held", reader.heldByteCount, 0)
        check.equal("held back", isHeldBack, false)
        return check
    }
}
