import MartletWire

extension Link {
    /// Checks the state that remains while no frame is queued, held or outstanding.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("link")
        check.equal("credit released", receiveCredit.released, receiveCredit.received)
        check.equal("credit reserved for messages", sendCredit.reserved, 0)
        check.equal("bytes of incomplete messages", receiveCredit.assemblingByteCount, 0)
        check.equal("bytes held behind gaps", receiveCredit.heldByteCount, 0)
        check.equal("bytes of bulk counted as in flight", connection.flight.inFlight, 0)
        check.empty("sessions in the middle of an unreserved message", count: sendCredit.unreservedSlot == nil ? 0 : 1)
        check.empty("sessions that wait for credit", count: connection.scheduler.blockedCount)
        check.empty("arrivals that were not taken", count: arrivals.count)
        check.empty("control frames", count: connection.control.count)
        check.equal("timers of recovery", connection.recovery.isQuiescent, true)
        check.unset("the acknowledgement's deadline", connection.acks.deadline)
        sessions.check(&check)
        for slot in sessions.liveSlots { check.add(sessions[slot].quiescence()) }
        return check
    }
}

extension Session {
    fileprivate func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("session \(id.rawValue)")
        check.equal("credit released", receive.creditReleased, receive.creditReceived)
        check.equal("bytes held behind gaps", receive.heldByteCount, 0)
        check.equal("bytes of an incomplete message", receive.assemblingByteCount, 0)
        check.equal("frames that were not taken", receive.hasReady, false)
        check.empty("frames that wait", count: send.count)
        check.equal("bytes that wait", send.byteCount, 0)
        check.equal("bytes of messages that wait", send.backlog.messageByteCount, 0)
        check.equal("messages that wait", send.backlog.messageFrameCount, 0)
        check.equal("bytes in flight", send.inFlightByteCount, 0)
        check.equal("credit reserved", send.reservedCredit, 0)
        check.empty("transient frames", count: transients.count)
        check.equal("marks", marks.isScheduled || marks.isBlocked || marks.needsAck || isOutstanding, false)
        return check
    }
}
