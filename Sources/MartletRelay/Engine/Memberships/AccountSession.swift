import MartletLink
import MartletWire

/// An account's session with the relay: its open requests, its reads of the store, and its pending updates.
///
/// | state of a request | owns | ends |
/// |---|---|---|
/// | open | a number, a deadline | the answer, `cancel`, `takeOverdue`; its place is reused after the deadline |
///
/// | state of the store | owns | ends |
/// |---|---|---|
/// | idle | nothing | `nextRead` |
/// | reading | a page or rooms | `readEnded` |
/// | deciding | the entries, the rooms about which the policy is asked | `takeDecided`, when all are decided |
///
/// At most one read is in progress, so that pages and updates are sent in the order in which they were read: what is
/// sent last is the latest.
struct AccountSession: Sendable {
    /// The maximum number of open requests.
    static let maxRequestCount = RoomRequests.maxCountPerMember
    /// The maximum number of pages that wait or are read.
    static let maxListCount = 2
    /// The minimum duration between two reads of changed rooms.
    static let updateInterval: Duration = .milliseconds(50)
    /// Bytes of a session, with objects.
    static let byteCount = 512

    /// A read of the store.
    enum Read: Equatable {
        case page(number: UInt64, RoomListQuery)
        case rooms([RoomName: AccountProgress])
    }

    private struct OpenRequest: Sendable {
        /// The requester's number, which other open requests may have too (S-54).
        let correlation: UInt64
        let deadline: Instant
    }

    private var lastNumber: UInt64 = 0
    private var open: [UInt64: OpenRequest] = [:]
    private var pages = Deque<(number: UInt64, query: RoomListQuery)>()
    private(set) var reading: Read?
    /// The entries that were read, and whether the account may see their messages.
    private var deciding: DecidedEntries?
    private var decisions = EntryDecisions()
    /// The rooms in which messages were erased since the start of the read.
    private var erasedRooms: Set<RoomName> = []
    var pending = PendingUpdates()
    private var nextUpdateAt = Instant.zero
    /// Whether the client has closed the session, which ends when no request is open.
    private(set) var isClosing = false

    /// The instant at which pending updates may be read, or at which an open request of a closing session is answered;
    /// nil if there are none.
    var deadline: Instant? {
        if isClosing { return open.values.map(\.deadline).min() }
        return reading == nil && !pending.isEmpty && pages.isEmpty ? nextUpdateAt : nil
    }
    var requestCount: Int { open.count }

    // MARK: Requests

    /// Opens a request and returns its number; nil if too many are open.
    mutating func begin(_ correlation: UInt64, deadline: Duration, now: Instant) -> UInt64? {
        if open.count >= Self.maxRequestCount { open = open.filter { $0.value.deadline > now } }
        guard open.count < Self.maxRequestCount else { return nil }
        lastNumber += 1
        open[lastNumber] = OpenRequest(
            correlation: correlation, deadline: now + min(deadline, RoomRequests.maxTimeout))
        return lastNumber
    }

    /// Ends a request and returns its correlation; nil if it is not open.
    mutating func finish(_ number: UInt64) -> UInt64? { open.removeValue(forKey: number)?.correlation }

    /// Withdraws the first open request with a correlation (S-56).
    mutating func cancel(_ correlation: UInt64) {
        guard let number = open.filter({ $0.value.correlation == correlation }).keys.min() else { return }
        open[number] = nil
    }

    /// Closes the session. No updates are sent any more.
    mutating func close() {
        isClosing = true
        pending = PendingUpdates()
    }

    /// Ends the requests whose deadlines have passed, and returns their correlations in order.
    mutating func takeOverdue(now: Instant) -> [UInt64] {
        let overdue = open.filter { $0.value.deadline <= now }.keys.sorted()
        return overdue.compactMap { finish($0) }
    }

    /// Adds a request for a page; false if too many wait.
    mutating func append(_ number: UInt64, _ query: RoomListQuery) -> Bool {
        let isReadingPage = if case .page = reading { true } else { false }
        guard pages.count + (isReadingPage ? 1 : 0) < Self.maxListCount else { return false }
        pages.append((number, query))
        return true
    }

    // MARK: Reads

    /// Messages of a room are erased, which the read in progress may have found. An update of the room follows.
    mutating func noteErasure(in room: RoomName) {
        if reading != nil { erasedRooms.insert(room) }
    }

    /// A room has changed.
    mutating func note(_ room: RoomName, _ progress: AccountProgress) {
        if !isClosing { pending.note(room, progress) }
    }

    /// The list is requested again, because changes may have been missed.
    mutating func listAgain() {
        if !isClosing { pending.listAgain() }
    }

    /// Takes the next read. Pages precede updates.
    ///
    /// - Parameter hasRoom: Whether the link has room for updates.
    mutating func nextRead(hasRoom: Bool, now: Instant) -> Read? {
        guard reading == nil else { return nil }
        if let page = pages.popFirst() {
            reading = .page(number: page.number, page.query)
        } else if hasRoom, !pending.isEmpty, !pending.listsAgain, nextUpdateAt <= now {
            nextUpdateAt = now + Self.updateInterval
            reading = .rooms(pending.take())
        }
        return reading
    }

    /// Takes the update that requests the list again, if it is due.
    mutating func takeListAgain(hasRoom: Bool, now: Instant) -> Bool {
        guard reading == nil, hasRoom, nextUpdateAt <= now, pending.takeListAgain() else { return false }
        nextUpdateAt = now + Self.updateInterval
        return true
    }

    /// The store has answered, or has failed (nil).
    mutating func readEnded(_ entries: [StoredRoomEntry]?) {
        deciding = DecidedEntries(entries)
    }

    /// The rooms of the read about which the policy has to be asked: those whose messages it has not decided about.
    mutating func takeUndecided(now: Instant) -> [RoomName] {
        guard let entries = deciding?.entries else { return [] }
        var undecided: [RoomName] = []
        for stored in entries where stored.entry.lastOffset > 0 && !decisions.isKnown(stored.room, now: now) {
            undecided.append(stored.room)
        }
        deciding?.asked = Set(undecided)
        return undecided
    }

    /// The policy has decided about a room; nil if it has failed. Returns false if the decision is older than a change
    /// of the policy, and the policy has to be asked again.
    mutating func decided(_ room: RoomName, _ decision: RoomDecision?, asked generation: UInt64, now: Instant) -> Bool {
        guard deciding?.asked.contains(room) == true else { return true }
        guard generation == decisions.generation else { return false }
        deciding?.asked.remove(room)
        decisions.note(room, decision, now: now)
        return true
    }

    /// The number of changes of the policy so far.
    var decisionGeneration: UInt64 { decisions.generation }

    /// The policy, or the claims of the account, have changed.
    mutating func forgetDecisions() { decisions.removeAll() }

    /// What the policy permits in a room; nil if the account may not enter.
    func permissions(in room: RoomName) -> RoomPermissions? { decisions[room] }

    /// Takes a read whose entries are decided; nil while the policy is asked, or if there is none.
    mutating func takeDecided() -> (read: Read, entries: [StoredRoomEntry]?)? {
        guard let deciding, deciding.asked.isEmpty, let read = reading.take() else { return nil }
        self.deciding = nil
        let erasedRooms = erasedRooms
        self.erasedRooms = []
        let entries = deciding.entries?.map { erasedRooms.contains($0.room) ? $0.withoutMessage : $0 }
        return (read, entries)
    }

    /// Checks that nothing waits.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("reads of an account's rooms", reading == nil && pages.isEmpty, true)
        check.empty("updates of an account's rooms", count: pending.count + (pending.listsAgain ? 1 : 0))
    }
}
