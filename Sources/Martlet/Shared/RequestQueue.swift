import MartletProtocol

/// Members' requests that the application has not taken yet.
struct RequestQueue: Sendable {
    /// Requests that wait, at the most; more are answered with `tooManyRequests`.
    static let maxWaitingRequests = 64

    private var waiting = Deque<RoomRequest>()

    var isEmpty: Bool { waiting.isEmpty }

    /// Nil when the request was taken in; otherwise it is one too many. Those that nobody waits for any more make room.
    mutating func append(_ request: RoomRequest, now: ContinuousClock.Instant) -> RoomRequest? {
        if waiting.count >= Self.maxWaitingRequests { waiting = Deque(waiting.filter { $0.deadline > now }) }
        guard waiting.count < Self.maxWaitingRequests else { return request }
        waiting.append(request)
        return nil
    }

    mutating func popFirst(now: ContinuousClock.Instant) -> RoomRequest? {
        while let request = waiting.popFirst() {
            if request.deadline > now { return request }
        }
        return nil
    }

    mutating func cancel(_ correlation: UInt64) {
        guard waiting.contains(where: { $0.correlation == correlation }) else { return }
        waiting = Deque(waiting.filter { $0.correlation != correlation })
    }

    /// All of them, to be answered outside of the lock.
    mutating func removeAll() -> Deque<RoomRequest> {
        defer { waiting = [] }
        return waiting
    }
}
