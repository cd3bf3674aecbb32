public import MartletWire

/// Where a client stands and why, for a person to read.
public struct ClientStatus: Equatable, Sendable, CustomStringConvertible {
    /// What the client is doing.
    public enum State: Equatable, Sendable {
        /// Not started.
        case idle
        /// A dial is under way; attempts are counted from 1 since the last time online.
        case connecting(attempt: Int)
        /// The carrier is up, the server has not said welcome.
        case handshaking
        /// Messages flow.
        case online
        /// Waiting for the next attempt.
        case waiting(until: Instant, RetryReason)
        /// Waiting for a cause to go.
        case paused(PauseReason)
        /// Ending in good order.
        case stopping
        /// Not trying any more; without a reason because the user said so.
        case stopped(StopReason?)
    }

    /// What the client is doing.
    public var state = State.idle
    /// Why the last connection or attempt ended.
    public var lastFailure: ConnectionFailure?
    /// The code the server gave with it.
    public var lastCode: ErrorCode?
    /// What the server said of it for people, at most 256 bytes: the peer's text, not to be parsed (C-43).
    public var lastReason: String?
    /// How good the link is.
    public var quality = LinkQuality.unknown
    /// The link's epoch: 1 when it is new, one more with each resume; nil before the first welcome.
    public var epoch: UInt32?
    /// Connections established after the first.
    public var reconnects: UInt64 = 0
    /// Of those, how many resumed the link.
    public var resumes: UInt64 = 0

    /// Whether messages flow.
    public var isOnline: Bool { state == .online }

    /// When the next attempt begins, on the engine's clock.
    public var nextAttempt: Instant? {
        if case .waiting(let until, _) = state { until } else { nil }
    }

    /// One line for a status bar, without times.
    public var description: String {
        let line: String
        switch state {
        case .idle: line = "not started"
        case .connecting(let attempt): line = attempt > 1 ? "connecting (attempt \(attempt))" : "connecting"
        case .handshaking: line = "signing in"
        case .online: return "online, link \(quality)"
        case .waiting(_, .backoff(let attempt)): line = "offline, waiting after \(attempt) failed attempts"
        case .waiting(_, .pathUp(let kind)): line = "offline, a \(kind) network came up"
        case .waiting(_, .serverAsked): line = "offline, the server asked to wait"
        case .waiting(_, .redirected): line = "offline, going to where the server sent us"
        case .waiting(_, .userAsked): line = "offline, trying now"
        case .paused(.noPath): line = "offline, no network"
        case .stopping: line = "stopping"
        case .stopped(nil): line = "stopped"
        case .stopped(let reason?): line = "stopped: \(reason)"
        }
        guard let lastFailure, state != .stopped(nil), state != .stopping else { return line }
        return "\(line) (\(lastFailure)\(lastCode.map { ", \($0)" } ?? ""))"
    }
}
