import MartletWire

/// Bytes out: a connection is asked for once, the shell calls `transmit` when it has room, and who has none for too
/// long is cut off (C-61).
extension RelayEngine {
    /// A connection that has something to send, and since when.
    ///
    /// Mostly the shell calls at once, so waits are kept in a queue, the oldest first: timers would each fire for
    /// nothing. A wait that is over is passed over, and none is there twice.
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
        connections[slot].endWait()
        if mayHaveMore { beginWait(slot, now: now) }
        dropEndedWaits()
        return mayHaveMore
    }

    private mutating func write(from slot: Int, into out: inout OutputRawSpan, now: Instant) -> Bool {
        guard connections[slot].outbox.write(into: &out) else { return true }
        guard let link = connections[slot].linkSlot else { return false }
        links[link].link.transmit(into: &out, now: now)
        let outlook = links[link].outlook(now: now)
        armLink(link, outlook.deadline)
        return outlook.hasOutput
    }

    mutating func askToTransmit(_ slot: Int, now: Instant) {
        guard connections[slot].transmitAskedAt == nil else { return }
        beginWait(slot, now: now)
        outputs.append(.transmit(key(slot)))
    }

    /// When the one that has waited for longest has waited for too long.
    var waitDeadline: Instant? {
        waits.first.map { $0.since + configuration.slowConsumerTimeout }
    }

    mutating func endLongWaits(now: Instant) {
        while let wait = waits.first, wait.since + configuration.slowConsumerTimeout <= now {
            let isCurrent = isCurrent(wait)
            dropFirstWait()
            guard isCurrent, let slot = slot(wait.connection) else { continue }
            switch connections[slot].phase {
            case .attached: fail(slot, .peer(.slowConsumer), now: now)
            // The handshake has times of its own.
            case .awaitingHello, .authenticating: beginWait(slot, now: now)
            case .closing: break
            }
        }
    }

    private mutating func beginWait(_ slot: Int, now: Instant) {
        guard connections[slot].beginWait(now) else { return }
        waits.append(TransmitWait(connection: key(slot), since: now))
        guard waits.count > RelayEngine.maxQueued(current: counted.connections) else { return }
        for _ in waits.indices {
            guard let first = waits.first else { break }
            if isCurrent(first) { waits.append(first) } else { forget(first) }
            _ = waits.popFirst()
        }
    }

    private mutating func dropEndedWaits() {
        while let wait = waits.first, !isCurrent(wait) { dropFirstWait() }
    }

    private mutating func dropFirstWait() {
        if let first = waits.popFirst() { forget(first) }
    }

    private mutating func forget(_ wait: TransmitWait) {
        if let slot = slot(wait.connection) { connections[slot].forgetWait(since: wait.since) }
    }

    private func isCurrent(_ wait: TransmitWait) -> Bool {
        guard let slot = slot(wait.connection) else { return false }
        return connections[slot].transmitAskedAt == wait.since
    }
}
