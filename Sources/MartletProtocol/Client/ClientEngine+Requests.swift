public import MartletWire

extension ClientEngine {
    /// Asks a member of a room, or with no recipient the server; the outcome comes as `.response`.
    ///
    /// - Parameter deadline: how long to wait; afterwards the outcome is `deadlineExceeded` and a late answer is
    ///   dropped.
    /// - Throws: `noRoom`, `tooManyRequests`, `queueFull`.
    public mutating func request(
        _ method: MethodName, content: [UInt8]? = nil, to recipient: AccountName? = nil, in id: RoomID,
        deadline: Duration, now: Instant
    ) throws(ClientError) -> UInt64 {
        guard let session = rooms[id]?.session else { throw .noRoom }
        guard requests.count < configuration.maxRequests else { throw .tooManyRequests }
        let number = nextRequest
        let request = Request(
            correlation: number, method: method, deadline: deadline, recipient: recipient, sender: nil, content: content
        )
        guard link.send(.request, EncodedBody(request.encode()), on: session) == .queued else { throw .queueFull }
        nextRequest += 1
        requests[number] = id
        timers.set(.request(number), at: now + deadline)
        return number
    }

    /// Gives up waiting for an answer; the outcome is `cancelled`.
    public mutating func cancelRequest(_ number: UInt64, now: Instant) {
        finishRequest(number, .failed(.cancelled), now: now)
    }

    /// Answers a member's request; a status other than `none` says that it failed.
    public mutating func respond(
        in id: RoomID, correlation: UInt64, status: ErrorCode = .none, reason: String? = nil, content: [UInt8]? = nil,
        now: Instant
    ) {
        guard let session = rooms[id]?.session else { return }
        let response = Response(correlation: correlation, status: status, reason: reason, content: content)
        _ = link.send(.response, EncodedBody(response.encode()), on: session)
    }

    mutating func finishRequest(_ number: UInt64, _ outcome: RequestOutcome, now: Instant) {
        guard let room = requests.removeValue(forKey: number) else { return }
        timers.cancel(.request(number))
        outputs.append(.response(request: number, outcome))
        guard case .failed(let code) = outcome, code != .resumeRejected, let session = rooms[room]?.session else {
            return
        }
        _ = link.send(.cancel, EncodedBody(CancelRequest(correlation: number).encode()), on: session)
    }
}
