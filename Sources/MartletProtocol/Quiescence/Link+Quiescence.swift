import MartletWire

extension Link {
    /// What is left over although nothing is under way.
    func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("link")
        check.equal("credit given back", linkCreditReleased, linkCreditReceived)
        check.equal("credit reserved for messages", linkCreditReserved, 0)
        check.equal("bytes of incomplete messages", assemblingByteCount, 0)
        check.equal("bytes held behind gaps", heldByteCount, 0)
        check.equal("sessions counted as unacknowledged", outstandingCount, 0)
        check.equal("bytes of bulk counted as in flight", flight.inFlight, 0)
        check.empty("sessions amid an unreserved message", count: unreservedSlot == nil ? 0 : 1)
        check.empty("sessions that wait for credit", count: blockedSlots.count)
        check.empty("arrivals that were not taken", count: arrivals.count + readySlots.count)
        check.empty("control frames", count: control.count)
        check.equal("sessions with memory for frames", queueCount, sessions.count { $0.send.hasQueue })
        check.equal("slots", sessions.count - freeSlots.count, slots.count)
        check.unset("the acknowledgement timer", ackTimer.deadline)
        check.unset("the acknowledgement's deadline", ackDeadline)
        check.unset("the credit probe", creditProbe.deadline)
        check.unset("the race for another connection", overdueDeadline)
        for slot in sessions.indices where sessions[slot].isLive { check.add(sessions[slot].quiescence()) }
        return check
    }
}

extension Session {
    fileprivate func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("session \(id.rawValue)")
        check.equal("credit given back", receive.creditReleased, receive.creditReceived)
        check.equal("bytes held behind gaps", receive.heldByteCount, 0)
        check.equal("bytes of an incomplete message", receive.assemblingByteCount, 0)
        check.equal("frames that were not taken", receive.hasReady, false)
        check.empty("frames that wait", count: send.count)
        check.equal("bytes that wait", send.byteCount, 0)
        check.equal("bytes of messages that wait", send.messageByteCount, 0)
        check.equal("messages that wait", send.messageFrameCount, 0)
        check.equal("bytes in flight", send.inFlightByteCount, 0)
        check.equal("credit reserved", send.reservedCredit, 0)
        check.empty("transient frames", count: transients.count)
        check.equal("marks", isScheduled || isBlocked || isOutstanding || needsAck, false)
        return check
    }
}
