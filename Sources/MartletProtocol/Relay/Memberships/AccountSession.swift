import MartletWire

/// An account's session with the relay: its open requests, its reads of the store, and its pending updates.
///
/// | state of a request | owns | ends |
/// |---|---|---|
/// | open | a correlation, a deadline | the answer, `cancel`, `takeOverdue`; its place is reused after the deadline |
///
/// | state of the store | owns | ends |
/// |---|---|---|
/// | idle | nothing | `nextRead` |
/// | reading | a page or rooms | `readEnded` |
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
        case page(correlation: UInt64, RoomListQuery)
        case rooms([RoomName: AccountProgress])
    }

    private var open: [UInt64: Instant] = [:]
    private var pages = Deque<(correlation: UInt64, query: RoomListQuery)>()
    private(set) var reading: Read?
    var pending = PendingUpdates()
    private var nextUpdateAt = Instant.zero
    /// Whether the client has closed the session, which ends when no request is open.
    private(set) var isClosing = false

    /// The instant at which pending updates may be read, or at which an open request of a closing session is answered;
    /// nil if there are none.
    var deadline: Instant? {
        if isClosing { return open.values.min() }
        return reading == nil && !pending.isEmpty && pages.isEmpty ? nextUpdateAt : nil
    }
    var requestCount: Int { open.count }

    // MARK: Requests

    /// Opens a request; false if too many are open.
    mutating func begin(_ correlation: UInt64, deadline: Duration, now: Instant) -> Bool {
        if open.count >= Self.maxRequestCount { open = open.filter { $0.value > now } }
        guard open.count < Self.maxRequestCount else { return false }
        open[correlation] = now + min(deadline, RoomRequests.maxTimeout)
        return true
    }

    /// Ends a request; false if it is not open.
    mutating func finish(_ correlation: UInt64) -> Bool { open.removeValue(forKey: correlation) != nil }

    /// Closes the session. No updates are sent any more.
    mutating func close() {
        isClosing = true
        pending = PendingUpdates()
    }

    /// Ends the requests whose deadlines have passed, and returns their numbers in order.
    mutating func takeOverdue(now: Instant) -> [UInt64] {
        let overdue = open.filter { $0.value <= now }.keys.sorted()
        for correlation in overdue { open[correlation] = nil }
        return overdue
    }

    /// Adds a request for a page; false if too many wait.
    mutating func append(_ correlation: UInt64, _ query: RoomListQuery) -> Bool {
        let isReadingPage = if case .page = reading { true } else { false }
        guard pages.count + (isReadingPage ? 1 : 0) < Self.maxListCount else { return false }
        pages.append((correlation, query))
        return true
    }

    // MARK: Reads

    /// A room has changed.
    mutating func note(_ room: RoomName, _ progress: AccountProgress) {
        if !isClosing { pending.note(room, progress) }
    }

    /// Takes the next read. Pages precede updates.
    ///
    /// - Parameter hasRoom: Whether the link has room for updates.
    mutating func nextRead(hasRoom: Bool, now: Instant) -> Read? {
        guard reading == nil else { return nil }
        if let page = pages.popFirst() {
            reading = .page(correlation: page.correlation, page.query)
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

    /// The store has answered.
    mutating func readEnded() -> Read? { reading.take() }

    /// Checks that nothing waits.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("reads of an account's rooms", reading == nil && pages.isEmpty, true)
        check.empty("updates of an account's rooms", count: pending.count + (pending.listsAgain ? 1 : 0))
    }
}
