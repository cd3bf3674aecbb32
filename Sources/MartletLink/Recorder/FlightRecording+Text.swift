import MartletWire

extension FlightRecording {
    /// The records as lines for people.
    package var lines: [String] {
        records.map { now, record in "\(now.text)  \(record.text)" }
    }
}

extension FlightReplay.Difference {
    /// The difference as lines for people.
    package var lines: [String] {
        [
            "\(at.text)  record \(record) differs", "  recorded: \(recorded ?? "nothing")",
            "  replayed: \(replayed ?? "nothing")",
        ]
    }
}

extension FlightRecord {
    fileprivate var text: String {
        switch self {
        case .begin(let state): "begin  a state of \(state.count) bytes"
        case .end(let state): "end    a state of \(state.count) bytes"
        case .event(let event): "event  \(event.text)"
        case .step(let step): "step   \(step.text)"
        case .status(let status): "status \(status)"
        }
    }
}

extension ConnectionEvent {
    fileprivate var text: String {
        switch self {
        case .input(let input): input.text
        case .linkEnded: "the link has ended"
        case .helloSent(let timeout): "hello is queued, welcome due after \(timeout.map { "\($0)" } ?? "any time")"
        case .framesWritten(let count): "frames of the handshake were written, \(count) are left"
        case .goAwaySent: "goaway is queued"
        case .resumptionDiscarded: "the state for a resume is discarded"
        case .pong: "pong"
        case .spread(let spread): "the server spreads attempts over \(spread)"
        case .auth: "auth of the server"
        case .serverUnverified: "the server has not proved its identity"
        case .welcomed(let welcome):
            "welcome, link \(welcome.link), epoch \(welcome.epoch.rawValue)\(welcome.resumed == nil ? "" : ", resumed")"
        case .rejected(let notice, _): "reject \(notice.text)"
        case .goAwayReceived(let notice): "goaway \(notice.text)"
        case .failed(let code): "fault \(code)"
        case .backupStarted: "welcome or acknowledgements are overdue"
        case .peerSilent: "the server is silent"
        case .progressed(_, let isUnacknowledged): "acknowledgements, \(isUnacknowledged ? "frames wait" : "none wait")"
        case .pending(let hasPending): hasPending ? "messages wait for a connection" : "no message waits"
        case .deadlinePassed: "deadline"
        case .activity(let activity):
            "frames, round trip \(activity.heartbeat.roundTrip.map { "\($0)" } ?? "unknown"), \(activity.quality)"
        }
    }
}

extension LinkInput {
    fileprivate var text: String {
        switch self {
        case .start: "start"
        case .stop: "stop"
        case .retryNow: "retry now"
        case .enterForeground: "enter foreground"
        case .setMode(let mode): "mode \(mode)"
        case .wake: "wake"
        case .pathChanged(let path): "path \(path.isUp ? "\(path.kind)" : "down")"
        case .connected(let id, _): "connection \(id.rawValue) connected"
        case .connectFailed(let id, let failure): "connection \(id.rawValue) failed: \(failure)"
        case .closed(let id, let byPeer, _): "connection \(id.rawValue) closed\(byPeer ? " by the peer" : "")"
        case .credential(let id, let secret, _):
            "connection \(id.rawValue): \(secret.map { "credential of \($0.bytes.count) bytes" } ?? "no credential")"
        case .answer(let id, let secret, _): "connection \(id.rawValue): answer of \(secret.bytes.count) bytes"
        case .exchangeFailed(let id): "connection \(id.rawValue): the exchange has failed"
        case .credentialFailed(let id): "connection \(id.rawValue): no credential"
        }
    }
}

extension ConnectionSupervisor.Step {
    var text: String {
        switch self {
        case .receive: "receive"
        case .sendHello: "send hello"
        case .established: "established"
        case .detach: "detach the link"
        case .ping: "ping"
        case .output(.connect(let id, let redirect)):
            "connection \(id.rawValue): connect\(redirect == nil ? "" : ", redirected")"
        case .output(.fetchCredential(let id)): "connection \(id.rawValue): fetch the credential"
        case .output(.answerChallenge(let id, _)): "connection \(id.rawValue): answer the challenge"
        case .output(.startBackup(let id, _)): "connection \(id.rawValue): connect as a backup"
        case .output(.close(let id, let isGraceful)): "connection \(id.rawValue): close\(isGraceful ? "" : " at once")"
        case .output(.transmit(let id)): "connection \(id.rawValue): transmit"
        case .output(.stopped), .output(.status): "stopped"
        }
    }
}

extension Notice {
    fileprivate var text: String { "\(code)\(retryAfter.map { ", wait \($0)" } ?? "")" }
}

extension Instant {
    /// Seconds with three digits, which the origin of the clock precedes.
    fileprivate var text: String {
        let milliseconds = nanoseconds / 1_000_000
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    }
}
