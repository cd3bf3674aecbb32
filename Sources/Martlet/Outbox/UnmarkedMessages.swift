/// The messages of a room that the outbox has stored as not in flight. Those with a time to live are not released to
/// the engine before the outbox has marked them as in flight: after a restart they could otherwise expire although the
/// relay has accepted them (C-75).
///
/// | message | released | left by |
/// |---|---|---|
/// | unmarked, without a time to live before it | yes | `marked`, `remove` |
/// | unmarked, with a time to live, or behind such a message | no | `marked`, `remove` |
struct UnmarkedMessages: Sendable {
    /// The counters of unmarked messages, in ascending order.
    private(set) var counters: [UInt64] = []
    /// Those with a time to live.
    private var limited: [UInt64] = []
    private var storedUpTo: UInt64 = 0

    /// The counter up to which messages may be sent.
    var releasedUpTo: UInt64 { limited.first.map { $0 - 1 } ?? storedUpTo }

    /// Reports that the outbox has stored messages.
    mutating func stored(_ entries: [OutboxEntry]) {
        for entry in entries where !entry.isInFlight {
            counters.append(entry.id.counter)
            if entry.timeToLive != nil { limited.append(entry.id.counter) }
        }
        if let last = entries.last { storedUpTo = max(storedUpTo, last.id.counter) }
    }

    /// Reports that the outbox has marked the messages up to a counter.
    mutating func marked(upTo counter: UInt64) {
        counters.removeAll { $0 <= counter }
        limited.removeAll { $0 <= counter }
    }

    /// Removes a message that has failed. Returns whether it was unmarked.
    mutating func remove(_ counter: UInt64) -> Bool {
        guard let index = counters.firstIndex(of: counter) else { return false }
        counters.remove(at: index)
        limited.removeAll { $0 == counter }
        return true
    }
}
