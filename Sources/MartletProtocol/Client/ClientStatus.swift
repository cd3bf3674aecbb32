public import MartletWire

/// The state of a client and its cause, for a person to read.
public struct ClientStatus: Equatable, Sendable, CustomStringConvertible {
    /// What the client is doing.
    public enum State: Equatable, Sendable {
        /// The client has not been started.
        case idle
        /// An attempt is under way; attempts are counted from 1 since the client was last online.
        case connecting(attempt: Int)
        /// The carrier is up, and the server has not sent welcome.
        case handshaking
        /// The connection is established.
        case online
        /// The client waits for the next attempt.
        case waiting(until: Instant, RetryReason)
        /// The client makes no attempt until a cause has ended.
        case paused(PauseReason)
        /// The connection is being closed.
        case stopping
        /// The client makes no further attempt; nil when the user has stopped it.
        case stopped(StopReason?)
    }

    /// The present state.
    public var state = State.idle
    /// The cause of the end of the last connection or attempt.
    public var lastFailure: ConnectionFailure?
    /// The error code that the server sent with it.
    public var lastCode: ErrorCode?
    /// The server's text for people, at most 256 bytes; it is not to be parsed (C-43).
    public var lastReason: String?
    /// The quality of the link.
    public var quality = LinkQuality.unknown
    /// The link's epoch: 1 when it is new, one more with each resume; nil before the first welcome.
    public var epoch: UInt32?
    /// Connections established after the first.
    public var reconnects: UInt64 = 0
    /// The number of these that resumed the link.
    public var resumes: UInt64 = 0

    /// Whether the connection is established.
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
        case .waiting(_, .serverRequired): line = "offline, the server asked to wait"
        case .waiting(_, .redirected): line = "offline, going to where the server sent us"
        case .waiting(_, .userRequested): line = "offline, trying now"
        case .paused(.noPath): line = "offline, no network"
        case .stopping: line = "stopping"
        case .stopped(nil): line = "stopped"
        case .stopped(let reason?): line = "stopped: \(reason)"
        }
        guard let lastFailure, state != .stopped(nil), state != .stopping else { return line }
        return "\(line) (\(lastFailure)\(lastCode.map { ", \($0)" } ?? ""))"
    }
}
