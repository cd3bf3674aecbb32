package import MartletLink

/// The instants until which the messages of a room may be published again, on a clock that does not jump (R-21, C-80).
///
/// Messages that were handed over within `granularity` share the instant of the first one, so the number of groups is
/// bounded by the window.
///
/// | group | owns | ends |
/// |---|---|---|
/// | messages up to a counter | an instant | `end`, when the instant has passed |
package struct ResendWindow: Sendable {
    /// The duration after its first publication, or after the start of a later client, in which a message may be
    /// published again.
    package static let lifetime = Duration.seconds(7 * 24 * 3600)
    /// The part of the lifetime that is left to the last publication on its way, and to differences of clocks.
    package static let margin = Duration.seconds(6 * 3600)
    /// The duration within which messages of a room share one instant.
    static let granularity = Duration.seconds(3600)

    private struct Group: Sendable {
        var upTo: UInt64
        var end: Instant
    }

    private var groups = Deque<Group>()
    /// The earliest end of a group.
    private var earliest: Instant?
    private var endedUpTo: UInt64 = 0

    /// The end of the window of messages that an earlier client handed over. The duration for which no client ran is
    /// not counted: the wall clock could have jumped, and no other clock measures it.
    package static func end(ofEarlier now: Instant) -> Instant { now + (lifetime - margin) }

    /// Reports that messages up to a counter were handed over for the first time.
    mutating func handedOver(upTo counter: UInt64, now: Instant) {
        add(counter, until: now + (Self.lifetime - Self.margin))
    }

    /// Adds messages up to a counter that may be published again until an instant.
    mutating func add(_ counter: UInt64, until end: Instant) {
        earliest = min(earliest ?? end, end)
        if let last = groups.last, end < last.end + Self.granularity {
            groups[groups.count - 1] = Group(upTo: counter, end: min(last.end, end))
        } else {
            groups.append(Group(upTo: counter, end: end))
        }
    }

    /// Forgets the instants, because no message is pending.
    mutating func removeAll() {
        groups = Deque()
        earliest = nil
    }

    /// Returns the counter up to which the messages may not be published again; 0 if there are none.
    mutating func endedUpTo(now: Instant) -> UInt64 {
        guard let first = earliest, first <= now else { return endedUpTo }
        for group in groups where group.end <= now { endedUpTo = max(endedUpTo, group.upTo) }
        groups = Deque(groups.filter { $0.upTo > endedUpTo })
        earliest = groups.lazy.map(\.end).min()
        return endedUpTo
    }
}
