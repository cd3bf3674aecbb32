import MartletWire

/// Bytes out: a connection is asked for once, the shell calls `transmit` when it has room, and who has none for too
/// long is cut off (C-61).
extension RelayEngine {
    /// A connection that has had something to send since an earlier turn.
    struct TransmitWait: Sendable {
        var connection: ConnectionKey
        var since: Instant
    }

    /// Writes what there is to send on a connection, as whole frames, as far as `out` has room.
    ///
    /// - Returns: whether there may be more.
    @discardableResult
    public mutating func transmit(on key: ConnectionKey, into out: inout OutputRawSpan, now: Instant) -> Bool {
        guard let slot = slot(key) else { return false }
        let mayHaveMore = write(from: slot, into: &out, now: now)
        // The peer took what it was given before; for what is left now its time begins again.
        connections[slot].transmitAskedAt = nil
        if mayHaveMore { noteAsked(slot, now: now) }
        return mayHaveMore
    }

    /// A connection's carrier has so many bytes left of what `transmit` gave: they count as long as they wait (R-48,
    /// Specs/hostile.md row 49).
    public mutating func noteUnsent(_ byteCount: Int, on key: ConnectionKey) {
        guard let slot = slot(key), byteCount != Int(connections[slot].unsentByteCount) else { return }
        memory.changeConnections(by: connections[slot].noteUnsent(byteCount))
    }

    private mutating func write(from slot: Int, into out: inout OutputRawSpan, now: Instant) -> Bool {
        guard connections[slot].outbox.write(into: &out) else { return true }
        guard let link = connections[slot].linkSlot else { return false }
        links[link].link.transmit(into: &out, now: now)
        armLink(link, links[link].deadline(now: now))
        return links[link].hasOutput(now: now)
    }

    /// False when it was asked to before and has not come to it.
    @discardableResult
    mutating func askToTransmit(_ slot: Int, now: Instant) -> Bool {
        switch connections[slot].ask(now) {
        case .isWaiting: return false
        case .isAmongAsked: break
        case .isNew: asked.append(slot)
        }
        unasked.append(key(slot))
        return true
    }

    private mutating func noteAsked(_ slot: Int, now: Instant) {
        if connections[slot].ask(now) == .isNew { asked.append(slot) }
    }

    /// When the one that has waited for longest has waited for too long.
    var waitDeadline: Instant? {
        if let first = waits.first { return first.since + configuration.slowConsumerTimeout }
        guard let slot = asked.first, connections.isLive(slot) else { return nil }
        return connections[slot].transmitAskedAt.map { $0 + configuration.slowConsumerTimeout }
    }

    /// Queues the connections that were asked for bytes in an earlier turn and have given none: mostly the shell calls
    /// at once, and there are none.
    mutating func queueWaits(now: Instant) {
        while let wait = waits.first, !isCurrent(wait) { _ = waits.popFirst() }
        guard !asked.isEmpty else { return }
        var kept = 0
        for slot in asked where connections.isLive(slot) && connections[slot].isAmongAsked {
            let since = connections[slot].transmitAskedAt
            if since == now {
                asked[kept] = slot
                kept += 1
            } else {
                connections[slot].isAmongAsked = false
                if let since { waits.append(TransmitWait(connection: key(slot), since: since)) }
            }
        }
        asked.removeSubrange(kept...)
        guard waits.count > RelayEngine.maxQueued(current: counted.connections) else { return }
        for _ in waits.indices {
            if let first = waits.popFirst(), isCurrent(first) { waits.append(first) }
        }
    }

    mutating func endLongWaits(now: Instant) {
        queueWaits(now: now)
        while let wait = waits.first, wait.since + configuration.slowConsumerTimeout <= now {
            _ = waits.popFirst()
            guard isCurrent(wait), let slot = slot(wait.connection) else { continue }
            switch connections[slot].phase {
            case .attached: fail(slot, .peer(.slowConsumer), now: now)
            // The handshake has times of its own.
            case .awaitingHello, .authenticating:
                connections[slot].transmitAskedAt = nil
                noteAsked(slot, now: now)
            case .closing: break
            }
        }
    }

    private func isCurrent(_ wait: TransmitWait) -> Bool {
        guard let slot = slot(wait.connection) else { return false }
        return connections[slot].transmitAskedAt == wait.since
    }
}
