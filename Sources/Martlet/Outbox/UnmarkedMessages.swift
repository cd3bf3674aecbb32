/// The messages of a room that the outbox has stored as not in flight. Those with a time to live are not released to
/// the engine before the outbox has marked them as in flight: after a restart they could otherwise expire although the
/// relay has accepted them (C-75). Those with a file that is not uploaded are neither marked nor released, nor are
/// those behind them (M-26).
///
/// | message | released | left by |
/// |---|---|---|
/// | unmarked, without a time to live before it | yes | `marked`, `remove` |
/// | unmarked, with a time to live, or behind such a message | no | `marked`, `remove` |
/// | with a file, or behind such a message | no | `uploaded`, `remove` |
struct UnmarkedMessages: Sendable {
    /// The counters of unmarked messages, in ascending order.
    private(set) var counters: [UInt64] = []
    /// Those with a time to live.
    private var limited: [UInt64] = []
    /// Those with a file that is not uploaded.
    private var withFile: [UInt64] = []
    private var storedUpTo: UInt64 = 0

    /// The counter up to which messages may be sent.
    var releasedUpTo: UInt64 {
        min(storedUpTo, limited.first.map { $0 - 1 } ?? .max, withFile.first.map { $0 - 1 } ?? .max)
    }

    /// The messages that may be marked.
    var markable: ArraySlice<UInt64> { counters.prefix { $0 < withFile.first ?? .max } }
    /// The first message with a file that is not uploaded.
    var nextWithFile: UInt64? { withFile.first }

    /// Reports that the outbox has stored messages.
    mutating func stored(_ entries: [OutboxEntry]) {
        for entry in entries where !entry.isInFlight {
            counters.append(entry.id.counter)
            if entry.timeToLive != nil { limited.append(entry.id.counter) }
            if entry.file != nil { withFile.append(entry.id.counter) }
        }
        if let last = entries.last { storedUpTo = max(storedUpTo, last.id.counter) }
    }

    /// Reports that the outbox has marked the messages up to a counter.
    mutating func marked(upTo counter: UInt64) {
        counters.removeAll { $0 <= counter }
        limited.removeAll { $0 <= counter }
    }

    /// Reports that the file of a message is uploaded.
    mutating func uploaded(_ counter: UInt64) { withFile.removeAll { $0 == counter } }

    /// Removes a message that has failed. Returns whether it was unmarked.
    mutating func remove(_ counter: UInt64) -> Bool {
        guard let index = counters.firstIndex(of: counter) else { return false }
        counters.remove(at: index)
        limited.removeAll { $0 == counter }
        withFile.removeAll { $0 == counter }
        return true
    }
}
