import MartletWire

/// What a link takes while nothing is under way: numbers, a few of them for each session. All else lies in queues and
/// in `OnDemand` state, whose memory comes with the first use and goes when the link has been idle for a moment.
extension Link {
    /// Whether the link holds memory that only one with something under way needs.
    var hasIdleMemory: Bool {
        if arrivals.slotCount + readySlots.slotCount + control.slotCount + ackSlots.slotCount > 0 { return true }
        if blockedSlots.capacity > 0 || scheduler.hasMemory || queueCount > 0 { return true }
        return sessions.contains { $0.hasIdleMemory }
    }

    /// Gives that memory back as far as nothing is in it.
    mutating func releaseIdleMemory() {
        arrivals.releaseIfEmpty()
        readySlots.releaseIfEmpty()
        control.releaseIfEmpty()
        ackSlots.releaseIfEmpty()
        if blockedSlots.isEmpty { blockedSlots = [] }
        scheduler.beginAnew()
        var count = 0
        for slot in sessions.indices {
            sessions[slot].releaseIdleMemory()
            if sessions[slot].send.hasQueue { count += 1 }
        }
        queueCount = count
    }

    /// Bytes that the link takes beside itself: its sessions, their queues without what is in them, and what packets
    /// have said.
    @inline(__always)
    var storageByteCount: Int {
        sessions.capacity * MemoryLayout<Session>.stride + slots.capacity * Slots.entryByteCount
            + queueCount * SendStream.queueByteCount + (packets?.storageByteCount ?? 0)
    }
}
