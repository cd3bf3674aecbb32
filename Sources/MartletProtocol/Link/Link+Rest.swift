import MartletWire

/// What is kept of a link that nothing happens to: numbers only, since whatever waits for something keeps it from rest.
///
/// A member that is added to `Link` belongs either here or among the conditions of `isAtRest`.
extension Link {
    /// Whether nothing waits to be sent, to be acknowledged, to be taken, or for a deadline.
    @inline(__always)
    var isAtRest: Bool {
        // In the order in which they are likely to forbid it.
        guard outstandingCount == 0, !isAckDue, ackDeadline == nil, control.isEmpty, arrivals.isEmpty,
            readySlots.isEmpty, ackSlots.isEmpty, retired.owed.isEmpty, blockedSlots.isEmpty, earlyBudget == nil,
            unreservedSlot == nil, ackTimer.deadline == nil, creditProbe == CreditProbe(), overdueDeadline == nil,
            probe == nil, assemblingByteCount == 0, heldByteCount == 0, packets?.isStreaming != true,
            streamDeadline == nil, !endsStream, !asksForAck
        else { return false }
        for slot in sessions.indices where !sessions[slot].isAtRest { return false }
        return true
    }

    mutating func pass(_ packer: inout Packer) {
        passAgreement(&packer)
        passSessions(&packer)
        passCredit(&packer)
        packer.pass(&echo, PendingEcho(timestamp: 0, arrived: .zero)) {
            $0.pass(&$1.timestamp)
            $0.pass(&$1.arrived)
        }
        packer.pass(&newestTimestamp)
        packer.pass(&deflatesPackets)
        passPackets(&packer)
        ackTimer.pass(&packer)
        packer.pass(&lastAckProgress)
        packer.pass(&ackCount)
        packer.pass(&probes)
        flight.pass(&packer)
        packer.pass(&pacingNoted)
        packer.pass(&wasWaitingForRoom)
        pings.pass(&packer)
        openBudget.pass(&packer)
        unknownFrames.pass(&packer)
        unproductive.pass(&packer)
        packer.pass(&pongsDue)
        rtt.pass(&packer)
        counters.pass(&packer)
    }

    init(unpacking packer: inout Packer) {
        self.init(blank: ())
        pass(&packer)
    }

    /// What is there before anything has been unpacked.
    init(blank: ()) {
        role = .relay
        limits = .minimum
        features = []
        began = .zero
        firstSequence = 1
        nextID = 2
        announcedLinkCredit = 0
        sessions = []
    }

    private mutating func passAgreement(_ packer: inout Packer) {
        packer.pass(&role)
        packer.pass(&began)
        packer.pass(&firstSequence)
        packer.pass(&limits)
        packer.pass(&features)
        packer.pass(&carrier, .reliable) { $0.pass(&$1) }
    }

    private mutating func passSessions(_ packer: inout Packer) {
        var count = sessions.count
        packer.pass(&count)
        if packer.isUnpacking {
            sessions.reserveCapacity(count)
            slots.reserveCapacity(count)
            for slot in 0..<count {
                sessions.append(Session(unpacking: &packer, limits))
                if sessions[slot].isLive { slots[sessions[slot].id] = slot }
            }
        } else {
            for slot in sessions.indices { sessions[slot].pass(&packer, limits) }
        }
        packer.pass(&freeSlots, 0) { $0.pass(&$1) }
        retired.pass(&packer)
        packer.pass(&nextID)
    }

    private mutating func passCredit(_ packer: inout Packer) {
        packer.pass(&linkCreditUsed)
        packer.pass(&linkCreditReserved)
        packer.pass(&linkCreditLimit, 0) { [linkCreditUsed, limits] in
            $0.pass(&$1, near: linkCreditUsed + UInt64(limits.linkWindow))
        }
        packer.pass(&linkCreditReceived)
        packer.pass(&linkCreditReleased, near: linkCreditReceived)
        packer.pass(&announcedLinkCredit, near: linkCreditReleased + UInt64(limits.linkWindow))
    }
}

extension LinkCounters {
    fileprivate mutating func pass(_ packer: inout Packer) {
        packer.pass(&retransmissions)
        packer.pass(&duplicates)
        packer.pass(&framesSent)
        packer.pass(&framesReceived)
        packer.pass(&bytesSent)
        packer.pass(&bytesReceived)
        packer.pass(&resumes)
        packer.pass(&skipped)
        packer.pass(&roundTripSamples)
    }
}

extension Packer {
    private static let usualLimits = Limits(maxSessions: Link.maxSessions)

    fileprivate mutating func pass(_ limits: inout Limits) {
        // Those of a client that leaves them as they are.
        let usual = Packer.usualLimits
        var (body, message) = (limits.maxBodyByteCount, limits.maxMessageByteCount)
        var (link, session, sessions) = (limits.linkWindow, limits.sessionWindow, limits.maxSessions)
        pass(&body, near: usual.maxBodyByteCount)
        pass(&message, near: usual.maxMessageByteCount)
        pass(&link, near: usual.linkWindow)
        pass(&session, near: usual.sessionWindow)
        pass(&sessions, near: usual.maxSessions)
        guard isUnpacking else { return }
        limits = Limits(
            maxBodyByteCount: body, maxMessageByteCount: message, linkWindow: link, sessionWindow: session,
            maxSessions: sessions)
    }

    mutating func pass(_ features: inout Features) {
        var bits = features.rawValue
        pass(&bits)
        features = Features(rawValue: bits)
    }
}
