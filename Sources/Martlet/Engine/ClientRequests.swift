import MartletLink
import MartletWire

/// The requests of a client that have no outcome.
///
/// | state | data | ends |
/// |---|---|---|
/// | waiting | the content | `send`; `finish`: its deadline, the room's end, cancellation by the caller |
/// | sent | the session on which it was sent | `finish`: the response, the above, or the session's end (S-57) |
struct ClientRequests: Sendable {
    private enum State: Sendable {
        case waiting(content: [UInt8]?)
        case sent(SessionID)
    }

    private struct Entry: Sendable {
        let room: RoomID
        let method: MethodName
        let recipient: AccountName?
        let expires: Instant
        var state: State

        var isSent: Bool { if case .sent = state { true } else { false } }
    }

    private let maxCount: Int
    private var entries = SortedMap<UInt64, Entry>()
    private var timers = TimerQueue<UInt64>()
    private var nextNumber: UInt64 = 1

    init(maxCount: Int) {
        self.maxCount = maxCount
    }

    var count: Int { entries.count }

    var deadline: Instant? { timers.earliest }

    /// Adds a request, and sends it if the room has a session. Returns its number.
    ///
    /// - Parameters:
    ///   - room: The room; ``ClientAccount/id`` for a request that belongs to none.
    ///   - session: The session, if requests may be sent on it.
    /// - Throws: `tooManyRequests`, `queueFull`.
    mutating func add(
        _ method: MethodName, _ content: [UInt8]?, to recipient: AccountName?, of room: RoomID,
        on session: SessionID?, expires: Instant, _ link: inout Link, _ outputs: inout Deque<ClientOutput>, now: Instant
    ) throws(ClientError) -> UInt64 {
        guard count < maxCount else { throw .tooManyRequests }
        let number = nextNumber
        entries[number] = Entry(
            room: room, method: method, recipient: recipient, expires: expires, state: .waiting(content: content))
        if let session, link.features.contains(.requests),
            !send(at: entries.count - 1, on: session, &link, &outputs, now: now)
        {
            entries.removeValue(forKey: number)
            throw .queueFull
        }
        nextNumber += 1  // S-54
        timers.set(number, at: expires)
        return number
    }

    /// Takes a number for a request that is not kept here.
    mutating func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// Sends the waiting requests of a room in order, or those of the account.
    mutating func send(
        of room: RoomID, on session: SessionID?, _ link: inout Link, _ outputs: inout Deque<ClientOutput>, now: Instant
    ) {
        guard let session, link.features.contains(.requests) else { return }
        for index in entries.indices where entries[at: index].room == room {
            _ = send(at: index, on: session, &link, &outputs, now: now)
        }
    }

    private mutating func send(
        at index: Int, on session: SessionID, _ link: inout Link, _ outputs: inout Deque<ClientOutput>, now: Instant
    ) -> Bool {
        let entry = entries[at: index]
        guard case .waiting(let content) = entry.state else { return false }
        let request = Request(
            correlation: entries.key(at: index), method: entry.method, deadline: max(entry.expires - now, .zero),
            recipient: entry.recipient, sender: nil, content: content)
        guard link.send(.request, EncodedBody(request.encode()), on: session) == .queued else { return false }
        entries[at: index].state = .sent(session)
        return true
    }

    // MARK: Outcomes

    /// Ends a request with its response. The duration that it names is at most an hour (S-65).
    mutating func finish(_ response: Response, _ link: inout Link, _ outputs: inout Deque<ClientOutput>) {
        let retryAfter = response.status == .none ? nil : ClientRooms.bounded(response.retryAfter)  // W-103
        finish(
            response.correlation,
            .answered(
                status: response.status, reason: response.reason, content: response.content, retryAfter: retryAfter),
            &link, &outputs)
    }

    /// Ends a request with its outcome. A sent request that failed is cancelled at the server.
    mutating func finish(
        _ number: UInt64, _ outcome: RequestOutcome, _ link: inout Link, _ outputs: inout Deque<ClientOutput>
    ) {
        guard let entry = entries.removeValue(forKey: number) else { return }  // W-69
        timers.cancel(number)
        outputs.append(.response(request: number, outcome))
        guard case .failed = outcome, case .sent(let session) = entry.state else { return }
        _ = link.send(.cancel, EncodedBody(CancelRequest(correlation: number).encode()), on: session)
    }

    /// Fails the requests of a room whose session has ended, or which has ended itself (S-57).
    ///
    /// - Parameter room: The room; nil for all rooms.
    mutating func fail(
        of room: RoomID?, _ code: ErrorCode, onlySent: Bool, _ link: inout Link, _ outputs: inout Deque<ClientOutput>
    ) {
        for number in entries.keys {
            guard let entry = entries[number], room == nil || entry.room == room, !onlySent || entry.isSent else {
                continue
            }
            finish(number, .failed(code), &link, &outputs)
        }
    }

    /// Fails the requests with `unknownMethod` if the server does not support requests (C-23).
    mutating func decline(_ link: inout Link, _ outputs: inout Deque<ClientOutput>) {
        guard !link.features.contains(.requests) else { return }
        for number in entries.keys {
            finish(number, .answered(status: .unknownMethod, reason: nil, content: nil), &link, &outputs)
        }
    }

    /// Fails the requests whose deadline has passed (S-55).
    mutating func deadlinePassed(_ link: inout Link, _ outputs: inout Deque<ClientOutput>, now: Instant) {
        while let number = timers.popExpired(now: now) {
            finish(number, .failed(.deadlineExceeded), &link, &outputs)
        }
    }
}
