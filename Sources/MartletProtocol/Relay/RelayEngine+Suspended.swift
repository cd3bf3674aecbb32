/// Links without a connection, which wait to be resumed for as long as they were promised.
///
/// All have the same time, so they are kept in the order in which they were suspended, and none has a timer. One that
/// has had a connection since is passed over.
extension RelayEngine {
    /// A link that lost its connection, and when.
    struct Suspension: Sendable {
        var link: LinkKey
        var since: Instant
    }

    mutating func noteSuspended(_ slot: Int, now: Instant) {
        links[slot].suspendedAt = now
        suspendedCount += 1
        accounts.suspend(links[slot].key, of: links[slot].account)
        suspended.append(Suspension(link: links[slot].key, since: now))
    }

    /// When the one that has been suspended for longest ends.
    var suspensionDeadline: Instant? {
        suspended.first.map { $0.since + configuration.resumeLifetime }
    }

    mutating func endLongSuspensions(now: Instant) {
        while let first = suspended.first, first.since + configuration.resumeLifetime <= now {
            end(first, now: now)
        }
    }

    /// The account that has most links without a connection loses the one that has been so for longest; what the queue
    /// has too much of is let go (C-62).
    mutating func boundSuspended(now: Instant) {
        while suspendedCount > configuration.maxSuspendedLinks, let key = accounts.greediestSuspended,
            let slot = slot(key)
        {
            remove(slot, now: now)
        }
        guard suspended.count > RelayEngine.maxQueued(current: suspendedCount) else { return }
        for _ in suspended.indices {
            if let first = suspended.popFirst(), isCurrent(first) { suspended.append(first) }
        }
    }

    /// So that those who are back wake nobody.
    mutating func dropEndedSuspensions() {
        while let first = suspended.first, !isCurrent(first) { _ = suspended.popFirst() }
    }

    private mutating func end(_ first: Suspension, now: Instant) {
        _ = suspended.popFirst()
        if isCurrent(first), let slot = slot(first.link) { remove(slot, now: now) }
    }

    private mutating func isCurrent(_ suspension: Suspension) -> Bool {
        guard let slot = slot(suspension.link) else { return false }
        return links[slot].suspendedAt == suspension.since
    }
}
