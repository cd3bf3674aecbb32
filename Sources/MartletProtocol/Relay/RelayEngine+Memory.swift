import MartletWire

/// What gives way when a loop holds more than its share of the relay's memory, in the order of R-48.
extension RelayEngine {
    /// Bytes that the engine holds, objects counted.
    public var memoryByteCount: Int {
        memory.links + memory.connections + rooms.memoryByteCount
            + counted.connections * MemoryLedger.connectionByteCount
    }

    /// Tells the ledger what a link holds after something was done for it.
    @inline(__always)
    mutating func settle(_ slot: Int) {
        memory.changeLinks(by: links[slot].takeChargeChange())
    }

    /// Counts anew what the links hold: what was acknowledged since is known now.
    mutating func countLinks() {
        var change = 0
        // Links that nothing waits for are passed over: there are many.
        for slot in links.slots where links.isLive(slot) && links[slot].hasQueued {
            links[slot].countQueued()
            change += links[slot].takeChargeChange()
        }
        memory.changeLinks(by: change)
    }

    /// Ends a turn: while more is held than may be, rooms and links give way. True when something was done for that,
    /// which is to be seen to before this is called again.
    mutating func boundMemory(now: Instant) -> Bool {
        if rooms.isCrowded, memory.mayRelieveRooms(now: now), let largest = largestCrowd() {
            end(largest.link, now: now)
            return true
        }
        let answer = memory.check(memoryByteCount, now: now)
        defer { rooms.isFull = memory.isFull }
        guard case .giveWay(let goal) = answer else { return false }
        countLinks()
        guard memoryByteCount > goal else {
            memory.relieved(memoryByteCount)
            return false
        }
        rooms.trimTails(byteCount: memoryByteCount - goal)
        let largest = largestCrowd()
        endSuspendedHolders(until: goal, above: largest?.byteCount ?? 0, now: now)
        resetConnectedHolders(until: goal, above: largest?.byteCount ?? 0, now: now)
        if memoryByteCount > goal, let largest {
            end(largest.link, now: now)
            memory.goOn()
            return true
        }
        while memoryByteCount > goal, let key = accounts.greediestSuspended, let slot = slot(key) {
            remove(slot, now: now)
        }
        memory.relieved(memoryByteCount)
        return true
    }

    /// The link with most sessions of the account that has most, and about what the account's sessions and their rooms
    /// take in bytes; nil when every account has few sessions.
    private func largestCrowd() -> (link: LinkKey, byteCount: Int)? {
        guard let crowd = accounts.largestCrowd(above: RelayLink.fewSessions) else { return nil }
        let each = RelayLink.sessionByteCount + rooms.memoryByteCount / max(rooms.count, 1)
        return (crowd.link, crowd.sessionCount * each)
    }

    /// Ends a link for its many sessions, with a connection or without. The turn's further passes see to its rooms, and
    /// one link after the other ends: so many rooms are not in the way of being left at the same time.
    ///
    /// A session alone is not reset: what tells its peer takes more than the session does (Specs/hostile.md row 48).
    private mutating func end(_ link: LinkKey, now: Instant) {
        guard let slot = slot(link) else { return }
        if let connection = links[slot].connection { say(.goaway, Notice(code: .serverBusy), on: connection, now: now) }
        remove(slot, now: now)
    }

    /// Suspended links that hold something, the account's that holds most first, if that is as much as `least`.
    private mutating func endSuspendedHolders(until goal: Int, above least: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in holders(above: least, areSuspended: true) {
            guard memoryByteCount > goal else { return }
            remove(slot, now: now)
        }
    }

    /// Connections whose carrier has much left of what it was given, and sessions of connected links that hold
    /// something, the account's that holds most first, if that is as much as `least`.
    private mutating func resetConnectedHolders(until goal: Int, above least: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in holders(above: least, areSuspended: false) {
            guard memoryByteCount > goal else { return }
            if let connection = links[slot].connection,
                connections[connection].unsentByteCount >= RelayLink.leastResetByteCount
            {
                end(connection, afterFlush: false, now: now)
            }
            for session in links[slot].sessions.keys {
                guard memoryByteCount > goal else { return }
                let held = links[slot].link.memoryByteCount(of: session, perFrame: RelayLink.entryByteCount)
                let early = links[slot].sessions[session]?.heldByteCount ?? 0
                guard held.queued + held.received + early >= RelayLink.leastResetByteCount else { continue }
                touch(slot)
                drop(session, held.queued >= held.received + early ? .slowConsumer : .serverBusy, of: slot)
                links[slot].countQueued()
                settle(slot)
            }
        }
    }

    /// Links that hold more than every link takes, those of the account that holds most first, and of these the one
    /// that holds most. Accounts that hold less than `least` are left out.
    private mutating func holders(above least: Int, areSuspended: Bool) -> [Int] {
        var found: [(slot: Int, account: Int32, byteCount: Int)] = []
        var byteCountOfAccount: [Int32: Int] = [:]
        for slot in links.slots where links.isLive(slot) {
            guard (links[slot].suspendedAt != nil) == areSuspended else { continue }
            let unsent = links[slot].connection.map { Int(connections[$0].unsentByteCount) } ?? 0
            let byteCount = links[slot].waitingByteCount + unsent
            guard byteCount >= RelayLink.leastResetByteCount else { continue }
            found.append((slot, links[slot].account, byteCount))
            byteCountOfAccount[links[slot].account, default: 0] += byteCount
        }
        found.removeAll { byteCountOfAccount[$0.account] ?? 0 < least }
        return found.sorted {
            let (left, right) = (byteCountOfAccount[$0.account] ?? 0, byteCountOfAccount[$1.account] ?? 0)
            return (right, $0.account, $1.byteCount, $0.slot) < (left, $1.account, $0.byteCount, $1.slot)
        }.map(\.slot)
    }
}
