public import MartletProtocol
public import MartletWire

extension Client {
    /// Where a client stands and why.
    public struct Status: Sendable, Equatable {
        /// What the client is doing.
        public enum Phase: Sendable, Equatable {
            /// Not started.
            case idle
            /// Dialling; attempts are counted from 1 since the last time online.
            case connecting(attempt: Int)
            /// Connected; the relay has not said welcome.
            case signingIn
            /// Messages flow.
            case online
            /// Waiting for the next attempt, until `nextAttempt`.
            case waiting(RetryReason)
            /// Waiting for a cause to go.
            case paused(PauseReason)
            /// Ending in good order.
            case stopping
            /// Not trying any more; without a reason because the client was stopped, with one because it gave up.
            case stopped(StopReason?)
        }

        /// What the client is doing.
        public internal(set) var phase = Phase.idle
        /// When the next attempt begins.
        public internal(set) var nextAttempt: ContinuousClock.Instant?
        /// Why the last connection or attempt ended; nil online.
        public internal(set) var lastFailure: ConnectionFailure?
        /// The code that the relay gave with it.
        public internal(set) var lastCode: ErrorCode?
        /// What the relay said of it for people, at most 256 bytes. It is the relay's text, with any characters: not to
        /// be parsed, and to be made safe before it is shown.
        public internal(set) var lastReason: String?
        /// What the system or the credential provider said of it.
        public internal(set) var detail: String?
        /// How good the link is.
        public internal(set) var quality = LinkQuality.unknown
        /// The smoothed round-trip time when this status was made.
        public internal(set) var roundTrip: Duration?
        /// 1 for a new link, one more with each resume; nil before the first welcome.
        public internal(set) var epoch: UInt32?
        /// Connections established after the first.
        public internal(set) var reconnects: UInt64 = 0
        /// Of those, how many resumed the link.
        public internal(set) var resumes: UInt64 = 0

        /// Whether messages flow.
        public var isOnline: Bool { phase == .online }

        /// One line for a person, without times.
        public internal(set) var explanation = "not started"
    }
}

extension Client.Status: CustomStringConvertible {
    /// The explanation.
    public var description: String { explanation }
}

extension Client.Status {
    /// What the engine says, in the application's terms.
    init(
        _ status: ClientStatus, now: Instant, wallClock: ContinuousClock.Instant, roundTrip: Duration?, detail: String?
    ) {
        phase = Phase(status.state)
        nextAttempt = status.nextAttempt.map { wallClock + ($0 - now) }
        lastFailure = status.lastFailure
        lastCode = status.lastCode
        lastReason = status.lastReason
        self.detail = status.lastFailure == nil ? nil : detail
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
    init(_ state: ClientStatus.State) {
        self =
            switch state {
            case .idle: .idle
            case .connecting(let attempt): .connecting(attempt: attempt)
            case .handshaking: .signingIn
            case .online: .online
            case .waiting(_, let reason): .waiting(reason)
            case .paused(let reason): .paused(reason)
            case .stopping: .stopping
            case .stopped(let reason): .stopped(reason)
            }
    }

    /// Why the client has given up, when it has.
    var givenUp: StopReason? {
        if case .stopped(let reason) = self { reason } else { nil }
    }
}
