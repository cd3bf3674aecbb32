import MartletLink
import MartletWire

/// The points of the application, which are sent as requests on the account's session, one at a time (C-115).
extension ClientDriver {
    /// The maximum duration until the relay has stored a batch.
    private static let telemetryTimeout: Duration = .seconds(30)

    /// Sends a batch if one is due, and sets the timer for the next one. What cannot be sent now is kept in the outbox.
    func sendTelemetry() {
        guard let core = life.telemetry, phase != .over else { return }
        let isOnline = (phase == .running || phase == .flushing) && engine.status.isOnline
        if isOnline, let content = core.withBatches({ [now] in $0.takeBatch(now: now) }) {
            do throws(ClientError) {
                telemetryRequest = try engine.accountRequest(
                    TelemetryBatch.method, content: content, deadline: Self.telemetryTimeout, now: now)
            } catch {
                core.withBatches { [now] in $0.answered(.failed(retryAfter: nil), now: now) }
            }
        }
        let (changes, deadline) = core.withBatches { [now] batches in
            if !isOnline || batches.isWaiting { batches.keep(now: now) }
            let deadline = isOnline ? batches.deadline.orEarlier(batches.dueWhileWaiting) : batches.dueInstant
            return (batches.takeChanges(), deadline)
        }
        if !changes.isEmpty {
            outbox.port.commit { transaction in
                transaction.keptPoints += changes.kept
                transaction.removedPoints += changes.removed
            }
        }
        telemetryTimer?.set(deadline: deadline?.nanoseconds)
    }

    /// The request with a batch has ended.
    func telemetryAnswered(_ outcome: RequestOutcome) {
        telemetryRequest = nil
        let answer: TelemetryBatches.Answer =
            switch outcome {
            case .answered(.none, _, _, _): .accepted
            case .answered(.unknownMethod, _, _, _), .failed(.unsupportedKind), .failed(.forbidden): .declined
            case .answered(.serverBusy, _, _, let wait), .answered(.tooManyRequests, _, _, let wait),
                .answered(.storeUnavailable, _, _, let wait), .answered(.deadlineExceeded, _, _, let wait):
                .failed(retryAfter: wait)
            case .answered: .rejected
            case .failed: .failed(retryAfter: nil)
            }
        life.telemetry?.withBatches { [now] in $0.answered(answer, now: now) }
        sendTelemetry()
    }

    /// Whether no batch is on its way, and none is due before a failed attempt is repeated.
    var isTelemetrySettled: Bool { life.telemetry?.withBatches { $0.isSettled } ?? true }
}
