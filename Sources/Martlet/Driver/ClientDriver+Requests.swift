import MartletProtocol
import MartletWire

extension ClientDriver {
    /// A request without a response.
    struct PendingRequest {
        let room: RoomCore
        let promise: Promise<Answer>
    }

    func request(_ call: RequestCall, in room: RoomCore) {
        guard phase == .running else { return refuse(call, .stopped) }
        guard let entry = rooms[room.id] else {
            return refuse(call, room.end?.error ?? .roomClosed(nil))
        }
        do throws(ClientError) {
            let number = try engine.request(
                call.method, content: call.content, to: call.recipient, in: entry.core.id, deadline: call.deadline,
                now: now)
            requests[number] = PendingRequest(room: room, promise: call.promise)
        } catch {
            refuse(call, MartletError(error, call, configuration))
        }
    }

    private func refuse(_ call: RequestCall, _ error: MartletError) {
        call.promise.resolve(.failure(error))
    }

    func abandonRequest(_ promise: Promise<Answer>) {
        guard let number = requests.first(where: { $0.value.promise === promise })?.key else { return }
        engine.cancelRequest(number, now: now)
    }

    func finish(_ number: UInt64, _ outcome: RequestOutcome) {
        guard let request = requests.removeValue(forKey: number) else { return }
        switch outcome {
        case .answered(.none, _, let content): request.promise.resolve(.success(Answer(content: content)))
        // The relay or the member has detected the end of the timeout before the client.
        case .answered(.deadlineExceeded, _, _), .failed(.deadlineExceeded):
            request.promise.resolve(.failure(MartletError.deadlineExceeded))
        case .answered(let code, let reason, _):
            request.promise.resolve(.failure(MartletError.answeredWithFailure(code, reason: reason)))
        case .failed: lostRequests.append(request)
        }
    }

    /// Fails the requests that ended with their link or their room. The cause is known only after all outputs of a turn
    /// were performed.
    func finishLostRequests() {
        for request in lostRequests {
            request.promise.resolve(.failure(request.room.end?.error ?? MartletError.connectionLost))
        }
        lostRequests.removeAll()
    }
}

extension MartletError {
    fileprivate init(_ error: ClientError, _ call: RequestCall, _ configuration: Client.Configuration) {
        self =
            switch error {
            case .messageTooLarge:
                .messageTooLarge(byteCount: call.content?.count ?? 0, limit: configuration.maxContentByteCount)
            case .noRoom: .roomClosed(nil)
            // The client has too many requests, or the room with `queueFull`.
            default: .tooManyRequests(limit: configuration.maxRequests)
            }
    }
}
