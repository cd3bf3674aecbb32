import MartletLink
import MartletWire

/// Eviction when a loop holds more than its share of the relay's memory, in the order of R-48.
extension RelayEngine {
    /// Whether new connections and rooms are refused.
    package var isMemoryFull: Bool { sessions.isMemoryFull }

    /// The number of bytes that the engine holds, objects counted.
    package var memoryByteCount: Int {
        sessions.relayLinks.byteCount + server.byteCount + sessions.rooms.local.memoryByteCount
            + sessions.accounts.byteCount + server.connectionCount * MemoryLedger.connectionByteCount
    }

    /// Evicts rooms and links at the end of a turn while the budget is exceeded, of links with many sessions one in a
    /// turn. Returns true when something was evicted; the caller processes the effects before the next call.
    mutating func evictIfNeeded(now: Instant) -> Bool {
        if sessions.rooms.local.hasMaxRooms, sessions.memory.mayEvictForRooms(now: now),
            let largest = linkWithMostSessions()
        {
            server.endLink(largest.slot, Notice(code: .serverBusy), &sessions, now: now)
            return true
        }
        let answer = sessions.memory.check(memoryByteCount, now: now)
        defer { sessions.rooms.local.isFull = sessions.memory.isFull }
        let goal: Int
        switch answer {
        case .fits, .wait: return false
        case .continueEviction(let byteCount): goal = byteCount
        case .evict(let byteCount):
            goal = byteCount
            sessions.relayLinks.recount(sessions.links)
            sessions.rooms.local.trimTails(byteCount: memoryByteCount - goal)
            let largest = linkWithMostSessions()
            endSuspendedHolders(until: goal, above: largest?.byteCount ?? 0, now: now)
            resetConnectedHolders(until: goal, above: largest?.byteCount ?? 0, now: now)
        }
        // The rooms of the link are evicted before the next one ends.
        if memoryByteCount > goal, let largest = linkWithMostSessions() {
            server.endLink(largest.slot, Notice(code: .serverBusy), &sessions, now: now)
            sessions.memory.linkEnded()
            return true
        }
        while memoryByteCount > goal, let slot = sessions.suspendedLinkToEnd() {
            server.endLink(slot, nil, &sessions, now: now)
        }
        sessions.memory.evicted(remaining: memoryByteCount)
        return true
    }

    /// The link with most sessions of the account that has most, and the approximate bytes of the account's sessions
    /// and their rooms; nil when every account has few sessions.
    ///
    /// A single session is not reset: the frame that reports it takes more than the session (Specs/hostile.md row 48).
    private mutating func linkWithMostSessions() -> (slot: Int, byteCount: Int)? {
        guard let largest = sessions.relayLinks.linkWithMostSessions(), let slot = sessions.links.slot(largest.link)
        else { return nil }
        let rooms = sessions.rooms.local.memoryByteCount / max(sessions.rooms.local.count, 1)
        return (slot, largest.sessionCount * (RelayLink.sessionByteCount + rooms))
    }

    /// Ends suspended links with considerable queues, of accounts that hold at least `least` bytes.
    private mutating func endSuspendedHolders(until goal: Int, above least: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in sessions.relayLinks.holders(above: least, areSuspended: true, sessions.links, server) {
            guard memoryByteCount > goal else { return }
            server.endLink(slot, nil, &sessions, now: now)
        }
    }

    /// Ends connections whose carriers hold many unsent bytes, and resets sessions with considerable queues, of
    /// accounts that hold at least `least` bytes.
    private mutating func resetConnectedHolders(until goal: Int, above least: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in sessions.relayLinks.holders(above: least, areSuspended: false, sessions.links, server) {
            guard memoryByteCount > goal else { return }
            guard sessions.links.isLive(slot) else { continue }
            if let connection = sessions.links[slot].connection,
                server.unsentByteCount(of: connection) >= RelayLink.minResetByteCount
            {
                server.end(connection, afterFlush: false, &sessions, now: now)
            }
            // The bound of suspended links may have ended this one.
            guard sessions.links.isLive(slot) else { continue }
            for session in sessions.relayLinks[slot].sessions.keys {
                guard memoryByteCount > goal else { return }
                let held = sessions.links[slot].link.memoryByteCount(of: session, perFrame: RelayLink.entryByteCount)
                let early = sessions.relayLinks[slot].sessions[session]?.heldByteCount ?? 0
                guard held.queued + held.received + early >= RelayLink.minResetByteCount else { continue }
                sessions.markDirty(slot)
                sessions.reset(
                    session, held.queued >= held.received + early ? .slowConsumer : .serverBusy, of: slot)
                sessions.relayLinks[slot].countQueued(sessions.links[slot].link)
                sessions.relayLinks.settle(slot, sessions.links[slot])
            }
        }
    }
}
