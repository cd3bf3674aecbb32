public import MartletLink
public import MartletWire

extension Client {
    /// The connection state of a client, with the reason of the last failure.
    public struct Status: Sendable, Equatable {
        /// The connection state.
        public enum Phase: Sendable, Equatable {
            /// The client has not been started.
            case idle
            /// A connection attempt is in progress. Attempts are counted from 1 since the last established connection.
            case connecting(attempt: Int)
            /// The client is connected and has not received the relay's welcome.
            case signingIn
            /// The link is established.
            case online
            /// The client waits until `nextAttempt`.
            case waiting(RetryReason)
            /// The client waits until the reason has ended, at most until `nextAttempt`.
            case paused(PauseReason)
            /// The client ends its link.
            case stopping
            /// The client makes no more attempts. The reason is nil if the client was stopped; otherwise the client has
            /// stopped retrying.
            case stopped(StopReason?)

            /// A stable key for translations and logs: `idle`, `connecting`, `signingIn`, `online`, `waiting`,
            /// `paused`, `stopping`, `stopped`, or `gaveUp` if the client has stopped retrying.
            public var key: String {
                switch self {
                case .idle: "idle"
                case .connecting: "connecting"
                case .signingIn: "signingIn"
                case .online: "online"
                case .waiting: "waiting"
                case .paused: "paused"
                case .stopping: "stopping"
                case .stopped(nil): "stopped"
                case .stopped: "gaveUp"
                }
            }
        }

        /// The connection state.
        public internal(set) var phase = Phase.idle
        /// The time of the next connection attempt.
        public internal(set) var nextAttempt: ContinuousClock.Instant?
        /// The failure that ended the last connection or attempt; nil while the client is online.
        public internal(set) var lastFailure: ConnectionFailure?
        /// The error code of the last failure: that of the relay, or that with which the client ended a connection on
        /// which the relay violated the protocol. It is nil if the failure has none.
        public internal(set) var lastCode: ErrorCode?
        /// The explanation that the relay sent with the last failure, at most 256 bytes.
        ///
        /// The text can contain any characters. Do not parse it, and replace control characters before you display it.
        public internal(set) var lastReason: String?
        /// The error of the system or of the credential provider that caused the last failure; nil if there is none.
        public internal(set) var detail: String?
        /// The way of the connection through the network, and why it is in use; nil while the client is not online.
        public internal(set) var route: ConnectionRoute?
        /// The quality of the link.
        public internal(set) var quality = LinkQuality.unknown
        /// The smoothed round-trip time at the time of this status.
        public internal(set) var roundTrip: Duration?
        /// The epoch of the link: 1 for a new link, and one more after each resume; nil before the first welcome.
        public internal(set) var epoch: UInt32?
        /// The number of connections established after the first.
        public internal(set) var reconnects: UInt64 = 0
        /// The number of reconnects that resumed the link.
        public internal(set) var resumes: UInt64 = 0

        /// Whether the link is established.
        public var isOnline: Bool { phase == .online }

        /// A description of the status in one line, without times.
        public internal(set) var explanation = "not started"
    }
}

extension Client.Status: CustomStringConvertible {
    /// The value of `explanation`.
    public var description: String { explanation }
}

extension Client.Status {
    /// Converts the status of the engine.
    init(
        _ status: LinkStatus, now: Instant, wallClock: ContinuousClock.Instant, roundTrip: Duration?, detail: String?,
        route: ConnectionRoute?
    ) {
        phase = Phase(status.state)
        nextAttempt = status.nextAttempt.map { wallClock + ($0 - now) }
        lastFailure = status.lastFailure
        lastCode = status.lastCode
        lastReason = status.lastReason
        self.detail = status.lastFailure == nil ? nil : detail
        self.route = route
        quality = status.quality
        self.roundTrip = roundTrip
        epoch = status.epoch
        reconnects = status.reconnects
        resumes = status.resumes
        explanation = "\(status)"
        if let detail = self.detail { explanation += ": \(detail)" }
    }
}

extension Client.Status.Phase {
    init(_ state: LinkStatus.State) {
        self =
            switch state {
            case .idle: .idle
            case .connecting(let attempt): .connecting(attempt: attempt)
            case .handshaking: .signingIn
            case .online: .online
            case .waiting(_, let reason): .waiting(reason)
            case .paused(_, let reason): .paused(reason)
            case .stopping: .stopping
            case .stopped(let reason): .stopped(reason)
            }
    }

    /// The reason why the client has stopped retrying; nil if it has not.
    var stopReason: StopReason? {
        if case .stopped(let reason) = self { reason } else { nil }
    }
}
