import MartletWire

/// What gives way when a loop holds more than its share of the relay's memory, in the order of R-48.
extension RelayEngine {
    /// Bytes that the engine holds, objects counted: at the most what is really taken, but for what the allocator adds.
    public var memoryByteCount: Int {
        memory.links - links.packedChargeByteCount + links.packedByteCount + memory.connections + rooms.memoryByteCount
            + counted.connections * MemoryLedger.connectionByteCount + counted.links * MemoryLedger.linkPlaceByteCount
            + links.wakefulCount * MemoryLedger.awakeLinkByteCount
    }

    /// Tells the ledger what a link holds after something was done for it.
    @inline(__always)
    mutating func settle(_ slot: Int) {
        memory.changeLinks(by: links[slot].takeChargeChange())
    }

    /// Counts anew what the links hold: what was acknowledged since is known now.
    mutating func countLinks() {
        var change = 0
        links.forEachWakeful { link in
            link.countQueued()
            change += link.takeChargeChange()
        }
        memory.changeLinks(by: change)
    }

    /// Ends a turn: while more is held than may be, rooms and links give way. True when something was done for that.
    mutating func boundMemory(now: Instant) -> Bool {
        if rooms.isCrowded, memory.mayRelieveRooms(now: now) {
            return endCrowds(until: .max, roomCount: rooms.maxRooms - rooms.maxRooms / 8, now: now).hasEnded
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
        endSuspendedHolders(until: goal, now: now)
        resetConnectedHolders(until: goal, now: now)
        while memoryByteCount > goal, let key = accounts.greediestSuspended, let slot = slot(key) {
            remove(slot, now: now)
        }
        memory.relieved(endCrowds(until: goal, roomCount: .max, now: now).byteCount)
        return true
    }

    /// Suspended links that hold something, the account's that holds most first.
    private mutating func endSuspendedHolders(until goal: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in holders(where: { $0.suspendedAt != nil }) {
            guard memoryByteCount > goal else { return }
            remove(slot, now: now)
        }
    }

    /// Connections whose carrier has much left of what it was given, and sessions of connected links that hold
    /// something, the account's that holds most first.
    private mutating func resetConnectedHolders(until goal: Int, now: Instant) {
        guard memoryByteCount > goal else { return }
        for slot in holders(where: { $0.suspendedAt == nil }) {
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

    /// Links of the accounts that have most sessions, with a connection or without, until about so many bytes are held
    /// and so many rooms are in memory. An account with few sessions keeps them (Specs/hostile.md row 48).
    ///
    /// A session alone is not reset: what tells its peer takes more than the session does. The rooms follow in the same
    /// turn, and until then count with what each takes on average.
    private mutating func endCrowds(
        until goal: Int, roomCount roomGoal: Int, now: Instant
    ) -> (byteCount: Int, hasEnded: Bool) {
        var (byteCount, roomCount, hasEnded) = (memoryByteCount, rooms.count, false)
        guard byteCount > goal || roomCount > roomGoal else { return (byteCount, false) }
        let roomByteCount = rooms.memoryByteCount / max(rooms.count, 1)
        var crowd = accounts.crowd(above: RelayLink.fewSessions)
        while byteCount > goal || roomCount > roomGoal, let top = crowd.popLast(),
            let (key, sessionCount) = accounts.greediestLink(of: top.account), let slot = slot(key)
        {
            byteCount -= links.packedByteCount(slot) ?? links[slot].chargedByteCount + MemoryLedger.awakeLinkByteCount
            byteCount -= sessionCount * roomByteCount
            roomCount -= sessionCount
            hasEnded = true
            if let connection = links[slot].connection {
                say(.goaway, Notice(code: .serverBusy), on: connection, now: now)
            }
            remove(slot, now: now)
            let left = top.sessionCount - sessionCount
            guard left > RelayLink.fewSessions else { continue }
            crowd.insert((left, top.account), at: crowd.firstIndex { $0.sessionCount > left } ?? crowd.endIndex)
        }
        return (byteCount, hasEnded)
    }

    /// Links that hold more than every link takes, those of the account that holds most first, and of these the one
    /// that holds most.
    private mutating func holders(where isMeant: (borrowing RelayLink) -> Bool) -> [Int] {
        var meant: [(slot: Int, account: Int32, byteCount: Int, connection: Int?)] = []
        links.forEachWakeful { link in
            guard isMeant(link) else { return }
            meant.append((Int(link.key.slot), link.account, link.chargedByteCount, link.connection))
        }
        var found: [(slot: Int, account: Int32, byteCount: Int)] = []
        var byteCountOfAccount: [Int32: Int] = [:]
        for link in meant {
            let byteCount = link.byteCount + (link.connection.map { Int(connections[$0].unsentByteCount) } ?? 0)
            guard byteCount >= RelayLink.leastResetByteCount else { continue }
            found.append((link.slot, link.account, byteCount))
            byteCountOfAccount[link.account, default: 0] += byteCount
        }
        return found.sorted {
            let (left, right) = (byteCountOfAccount[$0.account] ?? 0, byteCountOfAccount[$1.account] ?? 0)
            return (right, $0.account, $1.byteCount, $0.slot) < (left, $1.account, $0.byteCount, $1.slot)
        }.map(\.slot)
    }
}
