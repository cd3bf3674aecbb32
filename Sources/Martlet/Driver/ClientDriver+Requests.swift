import MartletProtocol
import MartletWire

extension ClientDriver {
    /// A request that waits for its answer.
    struct PendingRequest {
        let room: RoomID
        let shot: OneShot<Answer>
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
            requests[number] = PendingRequest(room: room.id, shot: call.shot)
        } catch {
            // A room that is being opened again has no session to ask on; a full one has no room for more.
            refuse(call, error == .noRoom ? .connectionLost : .tooManyRequests(limit: configuration.maxRequests))
        }
    }

    private func refuse(_ call: RequestCall, _ error: MartletError) {
        call.shot.resolve(.failure(error))
    }

    func abandonRequest(_ shot: OneShot<Answer>) {
        guard let number = requests.first(where: { $0.value.shot === shot })?.key else { return }
        engine.cancelRequest(number, now: now)
    }

    func finish(_ number: UInt64, _ outcome: RequestOutcome) {
        guard let shot = requests.removeValue(forKey: number)?.shot else { return }
        switch outcome {
        case .answered(.none, _, let content): shot.resolve(.success(Answer(content: content)))
        case .answered(let code, let reason, _):
            shot.resolve(.failure(MartletError.answeredWithFailure(code, reason: reason)))
        case .failed(.deadlineExceeded): shot.resolve(.failure(MartletError.deadlineExceeded))
        case .failed: shot.resolve(.failure(MartletError.connectionLost))
        }
    }
}
