package import MartletMetrics

/// What the connections of a client have counted since its start.
package struct ConnectionMetrics: Sendable {
    /// A state of ``LinkStatus/State`` without its values.
    package enum StateName: String, CaseIterable, Sendable {
        case idle, connecting, handshaking, online, waiting, paused, stopping, stopped
    }

    /// A change from one state to a different one.
    package struct Transition: Hashable, Sendable {
        package var from: StateName
        package var to: StateName
    }

    /// Attempts to connect, those beside an overdue connection included.
    package private(set) var attempts: UInt64 = 0
    /// Connections on which the server has sent welcome.
    package private(set) var established: UInt64 = 0
    /// The durations from an attempt to welcome.
    package private(set) var handshakes = Histogram()
    /// Attempts and connections that have failed, by the key of the failure.
    package private(set) var failures: [String: UInt64] = [:]
    package private(set) var pingsSent: UInt64 = 0
    package private(set) var pingsAnswered: UInt64 = 0
    /// Connections that ended because their peers did not answer pings.
    package private(set) var silentPeers: UInt64 = 0
    package private(set) var transitions: [Transition: UInt64] = [:]
    private var durations: [StateName: Duration] = [:]
    private var state = StateName.idle
    private var since: Instant
    private var attemptedAt: Instant?

    /// - Parameter now: The instant from which the durations of states count.
    package init(now: Instant) { since = now }

    /// Returns the duration of a state so far.
    package func duration(of state: StateName, now: Instant) -> Duration {
        durations[state, default: .zero] + (state == self.state ? now - since : .zero)
    }

    mutating func attempted(now: Instant) {
        attempts += 1
        attemptedAt = now
    }

    mutating func established(now: Instant) {
        established += 1
        if let began = attemptedAt.take() { handshakes.record(now - began) }
    }

    mutating func failed(_ failure: ConnectionFailure) { failures[failure.key, default: 0] += 1 }

    mutating func pingSent() { pingsSent += 1 }

    mutating func pingAnswered() { pingsAnswered += 1 }

    mutating func peerSilent() { silentPeers += 1 }

    /// The status has changed. A state within one turn of the engine does not count.
    mutating func entered(_ next: LinkStatus.State, now: Instant) {
        let next = StateName(next)
        guard next != state else { return }
        durations[state, default: .zero] += now - since
        transitions[Transition(from: state, to: next), default: 0] += 1
        (state, since) = (next, now)
    }
}

extension ConnectionMetrics.StateName {
    fileprivate init(_ state: LinkStatus.State) {
        self =
            switch state {
            case .idle: .idle
            case .connecting: .connecting
            case .handshaking: .handshaking
            case .online: .online
            case .waiting: .waiting
            case .paused: .paused
            case .stopping: .stopping
            case .stopped: .stopped
            }
    }
}

extension ConnectionFailure {
    /// A stable key for metrics and logs, the name of the case.
    public var key: String {
        switch self {
        case .unreachable: "unreachable"
        case .notListening: "notListening"
        case .credentialUnavailable: "credentialUnavailable"
        case .tlsFailure: "tlsFailure"
        case .proxyFailure: "proxyFailure"
        case .captivePortal: "captivePortal"
        case .lost: "lost"
        case .closedByPeer: "closedByPeer"
        case .refused: "refused"
        case .redirected: "redirected"
        case .unauthenticated: "unauthenticated"
        case .forbidden: "forbidden"
        case .revoked: "revoked"
        case .replaced: "replaced"
        case .unsupportedVersion: "unsupportedVersion"
        case .serverUnverified: "serverUnverified"
        }
    }
}
