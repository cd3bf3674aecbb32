/// The connections that have something to send, until the driver calls `transmit` for them.
///
/// The driver calls `transmit` when a carrier has room. A peer whose carrier has no room for longer than a timeout is a
/// slow consumer (C-61).
///
/// | state of a connection | owns | ends |
/// |---|---|---|
/// | idle | nothing | it has something to send |
/// | requested | an instant, an entry among the connections of this turn | `transmit`; the end of the turn |
/// | waiting | the same instant, an entry among the waits | `transmit`; the timeout |
struct TransmitQueue {
    /// A connection that has had something to send since an earlier turn.
    private struct Wait {
        var connection: ConnectionKey
        var since: Instant
    }

    /// Connections that have not been reported to the driver.
    private var unreported: [ConnectionKey] = []
    /// Slots of the connections of this turn, and of those without a wait from earlier turns.
    private var requested: [Int] = []
    /// The waits in the order of their instants. A wait that has ended is removed when it is first.
    private var waits = Deque<Wait>()

    /// Waits that have not been removed.
    var waitCount: Int { waits.count }
    /// Connections that have not been reported or have waited since an earlier turn.
    var heldCount: Int { unreported.count + waits.count }

    /// A connection has something to send. Returns false when `transmit` was requested before and not called.
    @inline(__always)
    @discardableResult
    mutating func request(_ slot: Int, in connections: inout ConnectionTable, now: Instant) -> Bool {
        guard note(slot, in: &connections, now: now) else { return false }
        unreported.append(connections.key(slot))
        return true
    }

    /// `transmit` was called. The carrier has taken the earlier bytes, so the time of the remaining ones starts now.
    @inline(__always)
    mutating func transmitted(_ slot: Int, hasMore: Bool, in connections: inout ConnectionTable, now: Instant) {
        connections[slot].requestedAt = nil
        if hasMore { _ = note(slot, in: &connections, now: now) }
    }

    @inline(__always)
    private mutating func note(_ slot: Int, in connections: inout ConnectionTable, now: Instant) -> Bool {
        guard connections[slot].requestedAt == nil else { return false }
        connections[slot].requestedAt = now
        if !connections[slot].isInTurn {
            connections[slot].isInTurn = true
            requested.append(slot)
        }
        return true
    }

    /// Takes the connections that the driver is to ask for bytes; nil when there are none.
    mutating func takeUnreported() -> [ConnectionKey]? {
        guard !unreported.isEmpty else { return nil }
        defer { unreported = [] }
        return unreported
    }

    /// The instant at which the longest wait exceeds the timeout.
    func deadline(in connections: borrowing ConnectionTable, timeout: Duration) -> Instant? {
        if let first = waits.first { return first.since + timeout }
        guard let slot = requested.first, connections.isLive(slot) else { return nil }
        return connections[slot].requestedAt.map { $0 + timeout }
    }

    /// Moves the connections of earlier turns to the waits. Usually there are none, because the driver calls `transmit`
    /// in the same turn.
    mutating func endTurn(in connections: inout ConnectionTable, now: Instant) {
        while let wait = waits.first, !isCurrent(wait, in: connections) { _ = waits.popFirst() }
        guard !requested.isEmpty else { return }
        var kept = 0
        // By index: an iteration over the array would copy it at the first change.
        for index in requested.indices {
            let slot = requested[index]
            guard connections.isLive(slot), connections[slot].isInTurn else { continue }
            let since = connections[slot].requestedAt
            if since == now {
                requested[kept] = slot
                kept += 1
            } else {
                connections[slot].isInTurn = false
                if let since { waits.append(Wait(connection: connections.key(slot), since: since)) }
            }
        }
        requested.removeSubrange(kept...)
        guard waits.count > Deque<Wait>.maxCount(valid: connections.count) else { return }
        for _ in waits.indices {
            if let first = waits.popFirst(), isCurrent(first, in: connections) { waits.append(first) }
        }
    }

    /// Takes the next connection that has waited longer than the timeout.
    mutating func popOverdue(in connections: borrowing ConnectionTable, timeout: Duration, now: Instant) -> Int? {
        while let wait = waits.first, wait.since + timeout <= now {
            _ = waits.popFirst()
            if isCurrent(wait, in: connections) { return connections.slot(wait.connection) }
        }
        return nil
    }

    private func isCurrent(_ wait: Wait, in connections: borrowing ConnectionTable) -> Bool {
        guard let slot = connections.slot(wait.connection) else { return false }
        return connections[slot].requestedAt == wait.since
    }
}
