import MartletLink
import MartletWire

/// The open requests of a room: the requester of each, and the member that answers it. Both may be members at
/// other relays.
///
/// | state of a request | owns | ends |
/// |---|---|---|
/// | open | a number, a timer, an entry among the requester's | `finish`: the answer, the timeout; a member leaves |
/// | cancelled | the same, until its recipient is notified | `finish`: the cancel is sent, the answer, the timeout |
///
/// A cancelled request stays open until its recipient is notified. Otherwise the next request could follow at once, and
/// both would wait in the recipient's queue (R-52, Specs/hostile.md row 46).
struct RoomRequests: ~Copyable, Sendable {
    /// The maximum number of open requests of a member.
    static let maxCountPerMember = 64
    /// The maximum timeout of a request.
    static let maxTimeout: Duration = .seconds(300)

    /// The maximum number of open requests of members at other relays.
    static let maxRemoteCount = 1024

    /// A requester, or who answers.
    enum Party: Hashable, Sendable {
        case member(MemberHandle)
        /// A member at another relay of the bus.
        case relay(RelayID)

        /// The member of this relay.
        var handle: MemberHandle? { if case .member(let handle) = self { handle } else { nil } }
    }

    struct Entry: Sendable {
        let from: Party
        /// Who answers; nil for the relay's request handler.
        let to: Party?
        /// The requester's number.
        let correlation: UInt64
        fileprivate(set) var isCancelled = false
    }

    // Not private: Swift 6.3 emits no external conformance of a private type when it optimizes single files.
    struct Open: ~Copyable, Neutral, Sendable {
        static let neutral = NeutralValue<Open>()

        var entries: [UInt64: Entry] = [:]
        var timers = TimerQueue<UInt64>()
        /// The numbers of each requester's requests, by slot.
        var asked: [Int32: [UInt64]] = [:]
        /// The number of requests that each recipient has to answer, by slot.
        var answering: [Int32: Int] = [:]
        /// The number of requests of members at other relays.
        var remoteCount = 0

        var isEmpty: Bool {
            entries.isEmpty && timers.isEmpty && asked.isEmpty && answering.isEmpty && remoteCount == 0
        }
    }

    private var lastNumber: UInt64 = 0
    /// Allocated while a request is open.
    private var open = OnDemand<Open>()

    var count: Int { open.value.entries.count }
    var deadline: Instant? { open.isAllocated ? open.value.timers.earliest : nil }

    subscript(number: UInt64) -> Entry? { open.isAllocated ? open.value.entries[number] : nil }

    /// Whether a member has the maximum number of open requests.
    func isFull(_ slot: Int) -> Bool {
        open.isAllocated && open.value.asked[Int32(slot)]?.count ?? 0 >= RoomRequests.maxCountPerMember
    }

    /// Whether members at other relays have the maximum number of open requests.
    var hasManyRemote: Bool { open.isAllocated && open.value.remoteCount >= Self.maxRemoteCount }

    /// Opens a request and returns its number.
    mutating func insert(from: Party, to: Party?, correlation: UInt64, deadline: Instant) -> UInt64 {
        lastNumber += 1
        open.value.entries[lastNumber] = Entry(from: from, to: to, correlation: correlation)
        open.value.timers.set(lastNumber, at: deadline)
        if let from = from.handle {
            open.value.asked[from.slot, default: []].append(lastNumber)
        } else {
            open.value.remoteCount += 1
        }
        if let to = to?.handle { open.value.answering[to.slot, default: 0] += 1 }
        return lastNumber
    }

    /// Ends a request and returns it.
    @discardableResult
    mutating func finish(_ number: UInt64) -> Entry? {
        guard open.isAllocated, let entry = open.value.entries.removeValue(forKey: number) else { return nil }
        open.value.timers.cancel(number)
        if let from = entry.from.handle {
            open.value.asked[from.slot]?.removeAll { $0 == number }
            if open.value.asked[from.slot]?.isEmpty == true { open.value.asked[from.slot] = nil }
        } else {
            open.value.remoteCount -= 1
        }
        if let to = entry.to?.handle, let count = open.value.answering[to.slot] {
            open.value.answering[to.slot] = count > 1 ? count - 1 : nil
        }
        // A wrong count keeps the memory, so that `check` reports it.
        if open.value.isEmpty { open.release() }
        return entry
    }

    /// The next request whose timeout is over; the caller finishes it.
    mutating func popExpired(now: Instant) -> UInt64? {
        open.isAllocated ? open.value.timers.popExpired(now: now) : nil
    }

    /// The consequence of a cancel.
    enum OnCancel {
        case none
        /// The request has ended.
        case finished
        /// The recipient is to be notified.
        case notify(MemberHandle)
        /// The request has ended, and the relay of the recipient is to be notified.
        case forward(RelayID)
    }

    /// A requester no longer needs the answer (S-56).
    mutating func cancel(_ number: UInt64) -> OnCancel {
        guard let entry = self[number], !entry.isCancelled else { return .none }
        switch entry.to {
        case nil:
            finish(number)
            return .finished
        case .relay(let relay):
            finish(number)
            return .forward(relay)
        case .member(let to):
            open.value.entries[number]?.isCancelled = true
            return .notify(to)
        }
    }

    /// The number of a requester's open request.
    func number(of correlation: UInt64, from slot: Int) -> UInt64? {
        asked(by: slot).first { number in
            self[number].map { $0.correlation == correlation && !$0.isCancelled } ?? false
        }
    }

    /// The numbers of a requester's requests.
    func asked(by slot: Int) -> [UInt64] { open.isAllocated ? open.value.asked[Int32(slot)] ?? [] : [] }

    /// A requester has left; its slot may be reused while its cancelled requests are open. Those to the relay remain.
    mutating func removeForwarded(of slot: Int) {
        let remaining = asked(by: slot).filter { self[$0]?.to == nil }
        if open.isAllocated { open.value.asked[Int32(slot)] = remaining.isEmpty ? nil : remaining }
    }

    /// The numbers of the requests that a member has to answer, in their order, so that effects do not depend on
    /// hashes.
    func unanswered(by handle: MemberHandle) -> [UInt64] {
        guard open.isAllocated, open.value.answering[handle.slot] != nil else { return [] }
        return open.value.entries.filter { $0.value.to == .member(handle) }.keys.sorted()
    }

    /// The numbers of the requests that a relay has to answer, in their order.
    func unanswered(by relay: RelayID) -> [UInt64] {
        open.isAllocated ? open.value.entries.filter { $0.value.to == .relay(relay) }.keys.sorted() : []
    }

    /// The numbers of the requests of members at a relay, in their order.
    func asked(by relay: RelayID) -> [UInt64] {
        open.isAllocated ? open.value.entries.filter { $0.value.from == .relay(relay) }.keys.sorted() : []
    }

    /// The number of an open request of a relay.
    func number(of correlation: UInt64, from relay: RelayID) -> UInt64? {
        asked(by: relay).first { self[$0]?.correlation == correlation }
    }

    /// Checks that no request is open.
    func check(_ check: inout QuiescenceCheck) {
        check.empty("requests without an answer", count: count)
        check.unset("the requests' timer", deadline)
        check.empty("requests asked", count: open.value.asked.count)
        check.empty("requests to answer", count: open.value.answering.count)
    }
}
