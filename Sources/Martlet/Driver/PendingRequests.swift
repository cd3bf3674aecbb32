import MartletLink
import MartletTransport
import MartletWire

/// The requests of a client that have no outcome.
///
/// | state | ends |
/// |---|---|
/// | pending | with a response: resolved; with a failure: lost; `failAll` |
/// | lost | `resolveLost`, which knows the room's end when all outputs were performed; `failAll` |
struct PendingRequests {
    private struct Entry {
        /// The room; nil for a request that belongs to none.
        let room: RoomCore?
        let promise: Promise<Answer>
    }

    private var pending: [UInt64: Entry] = [:]
    private var lost: [Entry] = []

    mutating func add(_ number: UInt64, in room: RoomCore?, _ promise: Promise<Answer>) {
        pending[number] = Entry(room: room, promise: promise)
    }

    func number(of promise: Promise<Answer>) -> UInt64? { pending.first { $0.value.promise === promise }?.key }

    mutating func finish(_ number: UInt64, _ outcome: RequestOutcome) {
        guard let request = pending.removeValue(forKey: number) else { return }
        switch outcome {
        case .answered(.none, _, let content, _): request.promise.resolve(.success(Answer(content: content)))
        // The relay or the member noticed the end of the timeout before this client.
        case .answered(.deadlineExceeded, _, _, _), .failed(.deadlineExceeded):
            request.promise.resolve(.failure(MartletError.deadlineExceeded))
        case .answered(let code, let reason, _, let retryAfter):
            request.promise.resolve(
                .failure(MartletError.answeredWithFailure(code, reason: reason, retryAfter: retryAfter)))
        // The relay serves no session of the account.
        case .failed(let code) where request.room == nil && (code == .unsupportedKind || code == .forbidden):
            request.promise.resolve(.failure(MartletError.answeredWithFailure(code)))
        case .failed: lost.append(request)
        }
    }

    /// Resolves the requests that ended with their link or their room.
    mutating func resolveLost() {
        for request in lost {
            let error = request.room.flatMap { room in room.end?.error(of: room.name) }
            request.promise.resolve(.failure(error ?? MartletError.connectionLost))
        }
        lost.removeAll()
    }

    /// Fails all requests. Returns the numbers of those that were pending.
    @discardableResult
    mutating func failAll(_ error: MartletError) -> [UInt64] {
        let numbers = pending.keys.sorted()
        for number in numbers { pending.removeValue(forKey: number)?.promise.resolve(.failure(error)) }
        for request in lost { request.promise.resolve(.failure(error)) }
        lost = []
        return numbers
    }
}
