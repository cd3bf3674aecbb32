import MartletLink

/// A queue of the members' requests that the application has not taken.
struct RequestQueue: Sendable {
    /// The maximum number of queued requests. Further requests are answered with `tooManyRequests`.
    static let maxWaitingRequests = 64

    private var waiting = Deque<RoomRequest>()

    var isEmpty: Bool { waiting.isEmpty }

    /// Appends a request. If the queue is full, requests past their deadlines are removed. Returns the request if the
    /// queue is still full, otherwise nil.
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

    mutating func cancel(_ id: IncomingRequest.ID) {
        guard waiting.contains(where: { $0.id == id }) else { return }
        waiting = Deque(waiting.filter { $0.id != id })
    }

    /// Removes all requests. The caller releases them outside of the lock.
    mutating func removeAll() -> Deque<RoomRequest> {
        defer { waiting = [] }
        return waiting
    }
}
