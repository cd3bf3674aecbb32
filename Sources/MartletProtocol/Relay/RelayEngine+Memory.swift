import MartletWire

/// What gives way when a loop holds more than its share of the relay's memory, in the order of R-48.
extension RelayEngine {
    /// Bytes that the engine holds, objects counted: at the most what is really taken, but for what the allocator adds.
    public var memoryByteCount: Int {
        memory.links + memory.connections + rooms.memoryByteCount
            + counted.connections * MemoryLedger.connectionByteCount
            + links.wakefulCount * MemoryLedger.awakeLinkByteCount
            + rooms.wakefulCount * MemoryLedger.awakeRoomByteCount
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
        resetConnectedHolders(until: goal)
        while memoryByteCount > goal, let key = accounts.greediestSuspended, let slot = slot(key) {
            remove(slot, now: now)
        }
        memory.relieved(memoryByteCount)
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

    /// Sessions of connected links that hold something, the account's that holds most first.
    private mutating func resetConnectedHolders(until goal: Int) {
        guard memoryByteCount > goal else { return }
        for slot in holders(where: { $0.suspendedAt == nil }) {
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
    /// that holds most.
    private mutating func holders(where isMeant: (borrowing RelayLink) -> Bool) -> [Int] {
        var found: [(slot: Int, account: Int32, byteCount: Int)] = []
        var byteCountOfAccount: [Int32: Int] = [:]
        links.forEachWakeful { link in
            guard isMeant(link), link.chargedByteCount >= RelayLink.leastResetByteCount else { return }
            found.append((Int(link.key.slot), link.account, link.chargedByteCount))
            byteCountOfAccount[link.account, default: 0] += link.chargedByteCount
        }
        return found.sorted {
            let (left, right) = (byteCountOfAccount[$0.account] ?? 0, byteCountOfAccount[$1.account] ?? 0)
            return (right, $0.account, $1.byteCount, $0.slot) < (left, $1.account, $0.byteCount, $1.slot)
        }.map(\.slot)
    }
}
