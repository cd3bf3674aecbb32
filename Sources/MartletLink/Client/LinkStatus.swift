public import MartletWire

/// The state of a client and its cause, for display.
public struct LinkStatus: Equatable, Sendable, CustomStringConvertible {
    /// The state of the connection.
    public enum State: Equatable, Sendable {
        /// The client has not been started.
        case idle
        /// A connection attempt is in progress. Attempts are counted from 1 since the last established connection.
        case connecting(attempt: Int)
        /// The carrier is connected, and the server has not sent welcome.
        case handshaking
        /// The connection is established.
        case online
        /// The client waits for the next attempt.
        case waiting(until: Instant, RetryReason)
        /// The client waits until the reason has ended, at most until an instant.
        case paused(until: Instant, PauseReason)
        /// The connection is closing.
        case stopping
        /// The client makes no further attempt. The reason is nil if the user has stopped it.
        case stopped(StopReason?)
    }

    /// The state of the connection.
    public var state = State.idle
    /// The failure that ended the last connection or attempt; nil while the client is online.
    public var lastFailure: ConnectionFailure?
    /// The error code of the last failure: that of the server, or that with which the client ended a connection on
    /// which the server violated the protocol. It is nil if the failure has none.
    public var lastCode: ErrorCode?
    /// The explanation that the server sent with the last failure, at most 256 bytes. It must not be parsed (C-43).
    public var lastReason: String?
    /// The connection or attempt that ended with the last failure; nil while the client is online.
    package var failedConnection: ConnectionID?
    /// The quality of the link.
    public var quality = LinkQuality.unknown
    /// The epoch of the link: 1 for a new link, and one more after each resume; nil before the first welcome.
    public var epoch: UInt32?
    /// The number of connections established after the first.
    public var reconnects: UInt64 = 0
    /// The number of reconnects that resumed the link.
    public var resumes: UInt64 = 0

    /// Whether the connection is established.
    public var isOnline: Bool { state == .online }

    /// The instant of the next attempt; nil if the client is not waiting.
    public var nextAttempt: Instant? {
        switch state {
        case .waiting(let until, _), .paused(let until, _): until
        default: nil
        }
    }

    /// A description of the status in one line, without times.
    public var description: String {
        let line: String
        switch state {
        case .idle: line = "not started"
        case .connecting(let attempt): line = attempt > 1 ? "connecting (attempt \(attempt))" : "connecting"
        case .handshaking: line = "signing in"
        case .online: return "online, link \(quality)"
        case .waiting(_, .backoff(let attempt)): line = "offline, waiting after failed attempt \(attempt)"
        case .waiting(_, .pathUp(let kind)): line = "offline, waiting after a network change to \(kind)"
        case .waiting(_, .serverRequired): line = "offline, waiting as required by the server"
        case .waiting(_, .redirected): line = "offline, waiting to follow a redirect"
        case .waiting(_, .userRequested): line = "offline, attempt requested by the user"
        case .paused(_, .noPath): line = "offline, no network"
        case .stopping: line = "stopping"
        case .stopped(nil): line = "stopped"
        case .stopped(let reason?): line = "stopped: \(reason)"
        }
        guard let lastFailure, state != .stopped(nil), state != .stopping else { return line }
        return "\(line) (\(lastFailure)\(lastCode.map { ", \($0)" } ?? ""))"
    }
}

/// The reason of a failure is written as its length.
extension LinkStatus: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try state.archive(&archive)
        try archive.optional(&lastFailure, .lost)
        try archive.optional(&lastCode, .none)
        try archive.text(&lastReason, upTo: 256)
        try archive.optional(&failedConnection, .none)
        try archive.choice(&quality)
        var number = epoch.map { Int($0) + 1 } ?? 0
        try archive.count(&number, upTo: Int(UInt32.max) + 1)
        epoch = number == 0 ? nil : UInt32(number - 1)
        var counts = (Int(clamping: reconnects), Int(clamping: resumes))
        try archive.count(&counts.0, upTo: Int(Int32.max))
        try archive.count(&counts.1, upTo: Int(Int32.max))
        (reconnects, resumes) = (UInt64(counts.0), UInt64(counts.1))
    }
}

extension LinkStatus.State {
    fileprivate mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, attempt, instant, retry) = (0, 0, Instant.zero, RetryReason.userRequested)
        var stop: StopReason?
        switch self {
        case .idle: break
        case .connecting(let number): (index, attempt) = (1, number)
        case .handshaking: index = 2
        case .online: index = 3
        case .waiting(let until, let reason): (index, instant, retry) = (4, until, reason)
        case .paused(let until, .noPath): (index, instant) = (5, until)
        case .stopping: index = 6
        case .stopped(let reason): (index, stop) = (7, reason)
        }
        switch try archive.tag(index, below: 8) {
        case 0: self = .idle
        case 1:
            try archive.count(&attempt, upTo: Int(UInt32.max))
            self = .connecting(attempt: attempt)
        case 2: self = .handshaking
        case 3: self = .online
        case 4:
            try instant.archive(&archive)
            try retry.archive(&archive)
            self = .waiting(until: instant, retry)
        case 5:
            try instant.archive(&archive)
            self = .paused(until: instant, .noPath)
        case 6: self = .stopping
        default:
            try archive.optional(&stop, .replaced)
            self = .stopped(stop)
        }
    }
}
