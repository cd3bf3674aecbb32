import MartletLink
import MartletWire

/// The transfers of a client, and the sessions of kind attachment on which they run.
///
/// | state of a room's session | owns | ends |
/// |---|---|---|
/// | closed | the instant of the next attempt | `fill`: a transfer needs the session |
/// | open | the session, its requests | `sessionEnded`, `linkBegan`; no transfer is left: closing |
/// | closing | the session | `sessionEnded`, `linkBegan` |
///
/// | state of a request | owns | ends |
/// |---|---|---|
/// | reading | a place of the window | `provide`; the transfer restarts or ends |
/// | sent | a place of the window, its correlation | the answer; the session ends |
/// | delivered | a place of the window | `consumed`; the transfer ends |
///
/// The window bounds the memory of all transfers. Transfers are served in turn.
struct ClientAttachments: Sendable {
    /// The maximum number of chunks that are read, requested or delivered at once, over all transfers.
    static let windowChunkCount = 32  // bound
    /// The deadline in requests. The client itself waits as long as the session lives.
    private static let deadline: Duration = .seconds(600)

    private struct Entry: Sendable {
        var transfer: Transfer
        /// Places of the window for bytes that the caller reads or writes.
        var callerCount = 0
        /// Requests without an answer.
        var sentCount = 0
        /// The instant before which nothing is requested.
        var retryAt = Instant.zero
        /// Whether the caller still has to write the last bytes.
        var isDraining = false
    }

    private struct Sent: Sendable {
        var transfer: TransferID
        var request: AttachmentRequest
        var session: SessionID
    }

    private struct RoomSession: Sendable {
        var session: SessionID?
        var isClosing = false
        var attempts = 0
        var retryAt = Instant.zero
    }

    private var entries = SortedMap<UInt64, Entry>()
    private var sessions = SortedMap<UInt32, RoomSession>()
    private var sent = SortedMap<UInt64, Sent>()
    private var nextTransfer: UInt64 = 1
    /// The transfer that was served last.
    private var lastServed: UInt64 = 0

    /// The instant at which `fill` is due although no event occurs.
    private(set) var deadline: Instant?

    var isEmpty: Bool { entries.count == 0 }
    /// Places of the window in use.
    private var usedCount: Int {
        entries.values.reduce(0) { $0 + $1.callerCount + $1.sentCount }
    }

    /// Whether there are no transfers, sessions and requests.
    var isIdle: Bool { entries.isEmpty && sessions.isEmpty && sent.isEmpty }

    // MARK: Transfers

    /// Adds a transfer; nil if there are too many.
    mutating func add(_ kind: TransferKind, in room: RoomID) -> TransferID? {
        guard entries.count < ClientConfiguration.maxTransferCount else { return nil }
        defer { nextTransfer += 1 }
        entries[nextTransfer] = Entry(transfer: Transfer(kind, in: room))
        return TransferID(rawValue: nextTransfer)
    }

    /// The caller has read bytes of an upload.
    mutating func provide(
        _ id: TransferID, _ bytes: [UInt8], at position: UInt64, _ requests: inout ClientRequests,
        _ link: inout Link, _ outputs: inout Deque<ClientOutput>
    ) {
        guard let index = entries.index(of: id.rawValue),
            let request = entries[at: index].transfer.provide(bytes, at: position)
        else { return }
        entries[at: index].callerCount -= 1
        guard let session = sessions[entries[at: index].transfer.room.rawValue]?.session else { return }
        send(request, of: id, at: index, on: session, &requests, &link, &outputs)
    }

    /// The caller has written bytes of a download.
    mutating func consumed(_ id: TransferID, _ outputs: inout Deque<ClientOutput>) {
        guard let index = entries.index(of: id.rawValue), entries[at: index].callerCount > 0 else { return }
        entries[at: index].callerCount -= 1
        if entries[at: index].isDraining, entries[at: index].callerCount == 0 { end(id, .finished, &outputs) }
    }

    /// Ends a transfer. Its answers are dropped when they arrive.
    mutating func end(_ id: TransferID, _ event: TransferEvent, _ outputs: inout Deque<ClientOutput>) {
        guard entries.removeValue(forKey: id.rawValue) != nil else { return }
        outputs.append(.transfer(id, event))
    }

    /// Ends the transfers of a room that was closed.
    mutating func fail(
        of room: RoomID, _ failure: TransferFailure, _ link: inout Link, _ outputs: inout Deque<ClientOutput>
    ) {
        for id in entries.keys where entries[id]?.transfer.room == room {
            end(TransferID(rawValue: id), .failed(failure), &outputs)
        }
        guard let session = sessions[room.rawValue], let id = session.session, !session.isClosing else { return }
        link.close(id)
        sessions[room.rawValue]?.isClosing = true
    }

    // MARK: Sessions

    func owns(_ session: SessionID) -> Bool { sessions.values.contains { $0.session == session } }

    /// Reports the start of another link, on which there are no sessions.
    mutating func linkBegan() {
        sent = SortedMap()
        for room in sessions.keys { sessions[room]?.session = nil }
        for room in sessions.keys { sessions[room]?.isClosing = false }
        for index in entries.indices { restart(at: index) }
    }

    private mutating func restart(at index: Int) {
        entries[at: index].sentCount = 0
        // Bytes that the caller writes keep their places until it has written them.
        if case .upload = entries[at: index].transfer.kind { entries[at: index].callerCount = 0 }
        if !entries[at: index].isDraining { entries[at: index].transfer.restart() }
    }

    mutating func opened(_ session: SessionID) {
        guard let room = sessions.keys.first(where: { sessions[$0]?.session == session }) else { return }
        sessions[room]?.attempts = 0
    }

    /// Reports that a session has ended. Codes that are final end the transfers of its room; after the others the
    /// session is opened again after a delay.
    mutating func sessionEnded(
        _ session: SessionID, _ code: ErrorCode, isFinal: Bool, retryAfter: Duration, random: UInt64,
        _ link: inout Link, _ outputs: inout Deque<ClientOutput>, now: Instant
    ) {
        guard let room = sessions.keys.first(where: { sessions[$0]?.session == session }),
            var state = sessions[room]
        else { return }
        link.releaseAll(on: session)
        for correlation in sent.keys where sent[correlation]?.session == session { sent[correlation] = nil }
        for index in entries.indices where entries[at: index].transfer.room.rawValue == room { restart(at: index) }
        state.session = nil
        if state.isClosing {
            state.isClosing = false
        } else if isFinal {
            for id in entries.keys where entries[id]?.transfer.room.rawValue == room {
                end(
                    TransferID(rawValue: id), .failed(code == .unsupportedKind ? .unsupported : .refused(code)),
                    &outputs)
            }
        } else {
            state.attempts += 1
            let ceiling = Duration.seconds(1 << min(state.attempts - 1, 5))
            state.retryAt = now + retryAfter + .uniform(below: ceiling, random: random)  // S-64
            outputs.report(RoomID(rawValue: room), .delayed(code))
        }
        sessions[room] = state
    }

    // MARK: Requests

    /// Requests as much as the window permits, opens the sessions that are needed, and closes the others.
    ///
    /// - Parameters:
    ///   - opens: The limit of opened sessions, which sessions of rooms and of the account use too.
    ///   - requests: The requests of rooms and of the account, whose numbers the requests of transfers use too.
    ///   - otherSessionCount: The number of sessions of rooms and of the account.
    ///   - name: The name of a room; nil if it is not open.
    mutating func fill(
        _ opens: inout TokenBucket, _ requests: inout ClientRequests, _ link: inout Link,
        _ outputs: inout Deque<ClientOutput>, now: Instant,
        otherSessionCount: Int, name: (RoomID) -> RoomName?
    ) {
        deadline = nil
        guard !isEmpty || !sessions.isEmpty else { return }
        for id in entries.keys where entries[id]?.transfer.isDelivered == true && entries[id]?.isDraining == false {
            end(TransferID(rawValue: id), .finished, &outputs)
        }
        guard link.isConfirmed else { return }
        guard link.features.contains([.attachments, .requests]) else {
            for id in entries.keys { end(TransferID(rawValue: id), .failed(.unsupported), &outputs) }
            return
        }
        openSessions(&opens, &link, &outputs, now: now, otherSessionCount: otherSessionCount, name: name)
        while usedCount < Self.windowChunkCount, let (index, step) = nextStep(now: now) {
            let id = TransferID(rawValue: entries.key(at: index))
            lastServed = id.rawValue
            switch step {
            case .read(let position, let byteCount):
                entries[at: index].callerCount += 1
                outputs.append(.transfer(id, .needs(position: position, byteCount: byteCount)))
            case .request(let request):
                guard let session = sessions[entries[at: index].transfer.room.rawValue]?.session else { return }
                send(request, of: id, at: index, on: session, &requests, &link, &outputs)
            }
        }
        closeSessions(&link)
        deadline = nextAttempt(after: now)
    }

    private mutating func openSessions(
        _ opens: inout TokenBucket, _ link: inout Link, _ outputs: inout Deque<ClientOutput>, now: Instant,
        otherSessionCount: Int,
        name: (RoomID) -> RoomName?
    ) {
        var refused: Set<RoomID> = []
        for index in entries.indices {
            let id = entries[at: index].transfer.room
            let state = sessions[id.rawValue] ?? RoomSession()
            guard state.session == nil, state.retryAt <= now, entries[at: index].retryAt <= now, let room = name(id)
            else { continue }
            sessions[id.rawValue] = state
            guard opens.take(now: now) else {  // S-4
                sessions[id.rawValue]?.retryAt = opens.availableAt()
                continue
            }
            do throws(LinkError) {
                sessions[id.rawValue]?.session = try link.open(Open(room: room, kind: .attachment, cursor: 0))
            } catch  where link.sessionCount > otherSessionCount {
                // A closing session, or one of other transfers, has to end first.
                sessions[id.rawValue]?.retryAt = now + .seconds(1)
            } catch {
                refused.insert(id)
            }
        }
        for room in refused { fail(of: room, .refused(.tooManySessions), &link, &outputs) }
    }

    /// Closes the sessions of rooms without transfers.
    private mutating func closeSessions(_ link: inout Link) {
        for room in sessions.keys where !entries.values.contains(where: { $0.transfer.room.rawValue == room }) {
            guard let state = sessions[room] else { continue }
            if let session = state.session {
                guard !state.isClosing else { continue }
                link.close(session)
                sessions[room]?.isClosing = true
            } else {
                sessions[room] = nil
            }
        }
    }

    /// The next action of the transfer after the one that was served last, of those that have one.
    private mutating func nextStep(now: Instant) -> (Int, Transfer.Step)? {
        let start = entries.indices.first { entries.key(at: $0) > lastServed } ?? entries.indices.startIndex
        for index in Array(entries.indices[start...]) + Array(entries.indices[..<start]) {
            let entry = entries[at: index]
            guard let state = sessions[entry.transfer.room.rawValue], state.session != nil, !state.isClosing,
                entry.retryAt <= now
            else { continue }
            if let step = entries[at: index].transfer.next() { return (index, step) }
        }
        return nil
    }

    private mutating func send(
        _ request: AttachmentRequest, of id: TransferID, at index: Int, on session: SessionID,
        _ requests: inout ClientRequests, _ link: inout Link, _ outputs: inout Deque<ClientOutput>
    ) {
        let correlation = requests.takeNumber()  // S-54
        let frame = Request(
            correlation: correlation, method: request.method.name, deadline: Self.deadline, content: request.content)
        guard link.send(.request, EncodedBody(frame.encode()), on: session) == .queued else { return }
        // The bytes are in the queue of the link.
        var kept = request
        if case .write(let digest, let position, _) = request { kept = .write(digest, position: position, []) }
        sent[correlation] = Sent(transfer: id, request: kept, session: session)
        entries[at: index].sentCount += 1
    }

    /// Reports the answer to a request.
    mutating func answered(
        _ response: Response, on session: SessionID, _ link: inout Link, _ outputs: inout Deque<ClientOutput>,
        now: Instant
    ) {
        guard let request = sent[response.correlation], request.session == session else { return }
        sent[response.correlation] = nil
        guard let index = entries.index(of: request.transfer.rawValue) else { return }
        entries[at: index].sentCount -= 1
        let answers: [Transfer.OnAnswer]
        if response.status == .none {
            do throws(WireError) {
                let content = try AttachmentResponse(parsing: response.content, answering: request.request)
                answers = entries[at: index].transfer.answered(request.request, content)
            } catch {
                answers = [.event(.failed(.invalidAnswer))]
            }
        } else {
            answers = [entries[at: index].transfer.refused(request.request, response.status)]
        }
        let wait = max(.seconds(1), ClientRooms.bounded(response.retryAfter) ?? .zero)  // S-65
        for answer in answers {
            perform(answer, of: request.transfer, response.status, retryAfter: wait, &link, &outputs, now: now)
        }
    }

    private mutating func perform(
        _ answer: Transfer.OnAnswer, of id: TransferID, _ code: ErrorCode, retryAfter: Duration,
        _ link: inout Link, _ outputs: inout Deque<ClientOutput>, now: Instant
    ) {
        guard let index = entries.index(of: id.rawValue) else { return }
        switch answer {
        case .proceed: break
        case .event(.finished): end(id, .finished, &outputs)
        case .event(.failed(let failure)): end(id, .failed(failure), &outputs)
        case .event(let event):
            if case .received = event {
                entries[at: index].callerCount += 1
                entries[at: index].isDraining = entries[at: index].transfer.isDelivered
            }
            outputs.append(.transfer(id, event))
        case .retry:
            // The other requests of the transfer are answered, or refused too, and have no effect.
            for correlation in sent.keys where sent[correlation]?.transfer == id { sent[correlation] = nil }
            restart(at: index)
            entries[at: index].retryAt = now + retryAfter
            if Transfer.delayCodes.contains(code) { outputs.report(entries[at: index].transfer.room, .delayed(code)) }
        }
    }

    /// The instant of the next attempt of a session or a transfer that waits for one.
    private func nextAttempt(after now: Instant) -> Instant? {
        var earliest: Instant?
        for entry in entries.values {
            let session = sessions[entry.transfer.room.rawValue]
            let due = max(entry.retryAt, session?.session == nil ? session?.retryAt ?? .zero : .zero)
            if due > now { earliest = earliest.orEarlier(due) }
        }
        return earliest
    }
}
