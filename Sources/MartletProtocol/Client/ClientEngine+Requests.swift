public import MartletWire

/// A request that waits for its answer.
struct ClientRequest: Sendable {
    var room: RoomID
    var method: MethodName
    var recipient: AccountName?
    var content: [UInt8]?
    var expires: Instant
    /// Whether the room's session has it; before that it waits for one.
    var isHanded = false
}

extension ClientEngine {
    /// Asks a member of a room, or with no recipient the server; the outcome comes as `.response`.
    ///
    /// It waits for a room that is not open yet, and for a connection, as long as its deadline allows.
    ///
    /// - Parameter deadline: how long to wait; afterwards the outcome is `deadlineExceeded` and a late answer is
    ///   dropped. A server that carries no requests is not asked: the outcome is as if it had answered `unknownMethod`.
    /// - Throws: `noRoom`, `tooManyRequests`, `messageTooLarge`, `queueFull`.
    public mutating func request(
        _ method: MethodName, content: [UInt8]? = nil, to recipient: AccountName? = nil, in id: RoomID,
        deadline: Duration, now: Instant
    ) throws(ClientError) -> UInt64 {
        guard let room = rooms[id] else { throw .noRoom }
        guard requests.count < configuration.maxRequests else { throw .tooManyRequests }
        guard fits(content) else { throw .messageTooLarge }
        let number = nextRequest
        let request = ClientRequest(
            room: id, method: method, recipient: recipient, content: content, expires: now + deadline)
        requests[number] = request
        if room.session != nil, !room.isHeldBack, link.features.contains(.requests), !handRequest(number, now: now) {
            requests[number] = nil
            throw .queueFull
        }
        nextRequest += 1  // S-54
        timers.set(.request(number), at: request.expires)
        if isEstablished { declineRequests(now: now) }
        return number
    }

    /// Gives up waiting for an answer; the outcome is `cancelled` (S-56).
    public mutating func cancelRequest(_ number: UInt64, now: Instant) {
        finishRequest(number, .failed(.cancelled), now: now)
    }

    /// Answers a member's request; a status other than `none` says that it failed. An answer that is larger than the
    /// server takes becomes `messageTooLarge`.
    public mutating func respond(
        in id: RoomID, correlation: UInt64, status: ErrorCode = .none, reason: String? = nil, content: [UInt8]? = nil,
        now: Instant
    ) {
        guard let session = rooms[id]?.session else { return }
        let response =
            fits(content)
            ? Response(correlation: correlation, status: status, reason: reason, content: content)
            : Response(correlation: correlation, status: .messageTooLarge)
        answer(response, on: session)
    }

    mutating func finishRequest(_ number: UInt64, _ outcome: RequestOutcome, now: Instant) {
        guard let request = requests.removeValue(forKey: number) else { return }  // W-69
        timers.cancel(.request(number))
        outputs.append(.response(request: number, outcome))
        guard case .failed(let code) = outcome, code != .resumeRejected, request.isHanded,
            let session = rooms[request.room]?.session
        else { return }
        _ = link.send(.cancel, EncodedBody(CancelRequest(correlation: number).encode()), on: session)
    }

    /// A server without the feature is sent no requests; each is answered as it would be (C-23).
    mutating func declineRequests(now: Instant) {
        guard !link.features.contains(.requests) else { return }
        for number in requests.keys.sorted() {
            finishRequest(number, .answered(status: .unknownMethod, reason: nil, content: nil), now: now)
        }
    }

    /// The room's session is new: what waited for it is handed over, in the order in which it was asked.
    mutating func handRequests(_ id: RoomID, now: Instant) {
        for number in numbers(of: id) where requests[number]?.isHanded == false { _ = handRequest(number, now: now) }
    }

    /// The session that had a room's requests is gone, and their answers with it (S-57).
    mutating func failRequests(of id: RoomID, _ code: ErrorCode, onlyHanded: Bool, now: Instant) {
        for number in numbers(of: id) where !onlyHanded || requests[number]?.isHanded == true {
            finishRequest(number, .failed(code), now: now)
        }
    }

    private func numbers(of id: RoomID) -> [UInt64] {
        requests.filter { $0.value.room == id }.keys.sorted()
    }

    /// Whether content is within what the server takes, with what surrounds it.
    private func fits(_ content: [UInt8]?) -> Bool {
        (content?.count ?? 0) + ClientEngine.maxMessageOverhead <= link.limits.maxMessageByteCount
    }

    private mutating func handRequest(_ number: UInt64, now: Instant) -> Bool {
        guard let waiting = requests[number], let session = rooms[waiting.room]?.session,
            rooms[waiting.room]?.isHeldBack == false, link.features.contains(.requests)
        else { return false }
        let request = Request(
            correlation: number, method: waiting.method, deadline: max(waiting.expires - now, .zero),
            recipient: waiting.recipient, sender: nil, content: waiting.content)
        guard link.send(.request, EncodedBody(request.encode()), on: session) == .queued else { return false }
        requests[number]?.isHanded = true
        requests[number]?.content = nil
        return true
    }
}
