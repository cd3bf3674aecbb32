import MartletLink
import MartletWire

/// Eviction when a loop holds more than its share of the relay's memory, in the order of R-48.
extension RelayEngine {
    /// The number of bytes that the engine holds, objects counted.
    package var memoryByteCount: Int {
        sessions.links.byteCount + connections.byteCount + sessions.rooms.local.memoryByteCount
            + sessions.accounts.byteCount + connections.count * MemoryLedger.connectionByteCount
    }

    /// Evicts rooms and links at the end of a turn while the budget is exceeded, of links with many sessions one in a
    /// turn. Returns true when something was evicted; the caller processes the effects before the next call.
    mutating func evictIfNeeded(now: Instant) -> Bool {
        if sessions.rooms.local.hasMaxRooms, memory.mayEvictForRooms(now: now), let largest = linkWithMostSessions() {
            endLink(largest.slot, Notice(code: .serverBusy), now: now)
            return true
        }
        let answer = memory.check(memoryByteCount, now: now)
        defer { sessions.rooms.local.isFull = memory.isFull }
        let goal: Int
        switch answer {
        case .fits, .wait: return false
        case .continueEviction(let byteCount): goal = byteCount
        case .evict(let byteCount):
            goal = byteCount
            sessions.links.recount()
            sessions.rooms.local.trimTails(byteCount: memoryByteCount - goal)
            let largest = linkWithMostSessions()
            endSuspendedHolders(until: goal, above: largest?.byteCount ?? 0, now: now)
            resetConnectedHolders(until: goal, above: largest?.byteCount ?? 0, now: now)
        }
        // The rooms of the link are evicted before the next one ends.
        if memoryByteCount > goal, let largest = linkWithMostSessions() {
            endLink(largest.slot, Notice(code: .serverBusy), now: now)
            memory.linkEnded()
            return true
        }
        while memoryByteCount > goal, let slot = sessions.links.oldestSuspendedOfLargest { removeLink(slot, now: now) }
        memory.evicted(remaining: memoryByteCount)
        return true
    }

    /// The link with most sessions of the account that has most, and the approximate bytes of the account's sessions
    /// and their rooms; nil when every account has few sessions.
    ///
    /// A single session is not reset: the frame that reports it takes more than the session (Specs/hostile.md row 48).
    private mutating func linkWithMostSessions() -> (slot: Int, byteCount: Int)? {
        guard let largest = sessions.links.linkWithMostSessions() else { return nil }
        let rooms = sessions.rooms.local.memoryByteCount / max(sessions.rooms.local.count, 1)
        return (largest.slot, largest.sessionCount * (RelayLink.sessionByteCount + rooms))
    }

    /// Ends suspended links with considerable queues, of accounts that hold at least `least` bytes.
    private mutating func endSuspendedHolders(until goal: Int, above least: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in sessions.links.holders(above: least, areSuspended: true, connections) {
            guard memoryByteCount > goal else { return }
            removeLink(slot, now: now)
        }
    }

    /// Ends connections whose carriers hold many unsent bytes, and resets sessions with considerable queues, of
    /// accounts that hold at least `least` bytes.
    private mutating func resetConnectedHolders(until goal: Int, above least: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in sessions.links.holders(above: least, areSuspended: false, connections) {
            guard memoryByteCount > goal else { return }
            guard sessions.links.isLive(slot) else { continue }
            if let connection = sessions.links[slot].connection,
                connections[connection].unsentByteCount >= RelayLink.minResetByteCount
            {
                end(connection, afterFlush: false, now: now)
            }
            // The bound of suspended links may have ended this one.
            guard sessions.links.isLive(slot) else { continue }
            for session in sessions.links[slot].sessions.keys {
                guard memoryByteCount > goal else { return }
                let held = sessions.links[slot].link.memoryByteCount(of: session, perFrame: RelayLink.entryByteCount)
                let early = sessions.links[slot].sessions[session]?.heldByteCount ?? 0
                guard held.queued + held.received + early >= RelayLink.minResetByteCount else { continue }
                sessions.markDirty(slot)
                sessions.reset(
                    session, held.queued >= held.received + early ? .slowConsumer : .serverBusy, of: slot)
                sessions.links[slot].countQueued()
                sessions.links.settle(slot)
            }
        }
    }
}
