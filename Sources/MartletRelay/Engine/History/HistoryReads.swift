import MartletLink
import MartletWire

/// The requests for pages of a room's history that wait for the store.
///
/// | state | owns | ends |
/// |---|---|---|
/// | reading | an entry, one of its member's places, one read of the store | `read`: the answer, the failure of the store, the end of the request |
///
/// A request that is cancelled, or whose member has left, keeps its place until the store has answered. Otherwise a
/// member could begin any number of reads (Specs/hostile.md row 74).
struct HistoryReads: Sendable {
    /// The maximum number of requests for history of a member that wait for the store.
    static let maxCountPerMember = 2

    private struct Entry: Sendable {
        let member: MemberHandle
        var read: HistoryRead
    }

    /// The entries by the number of the request in the room.
    private var entries: [UInt64: Entry] = [:]
    /// The number of entries of each member.
    private var counts: [MemberHandle: Int] = [:]

    /// Whether a member has the maximum number of requests.
    func isFull(_ member: MemberHandle) -> Bool { counts[member] ?? 0 >= Self.maxCountPerMember }

    /// Begins a request, and returns its first step.
    mutating func begin(_ number: UInt64, _ read: HistoryRead, for member: MemberHandle) -> HistoryRead.Step {
        var read = read
        let step = read.next()
        if case .read = step {
            entries[number] = Entry(member: member, read: read)
            counts[member, default: 0] += 1
        }
        return step
    }

    /// The result of a request's read, and its next step; nil if the request is unknown.
    mutating func read(
        _ number: UInt64, for member: MemberHandle, _ found: [LogEntry], first: UInt64
    ) -> HistoryRead.Step? {
        guard var entry = entries[number], entry.member == member else { return nil }
        let step = entry.read.read(found, first: first)
        if case .read = step { entries[number] = entry } else { end(number, for: member) }
        return step
    }

    /// Ends a request.
    mutating func end(_ number: UInt64, for member: MemberHandle) {
        guard entries[number]?.member == member, let count = counts[member] else { return }
        entries[number] = nil
        counts[member] = count > 1 ? count - 1 : nil
    }

    /// Checks that no request waits.
    func check(_ check: inout QuiescenceCheck) {
        check.empty("reads of history", count: entries.count)
        check.empty("members that read history", count: counts.count)
    }
}
