import MartletWire

/// Renews the credential of an established connection before it expires (C-71).
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | nothing | `begin` with a lifetime |
/// | waiting | the instant of the renewal | `deadlinePassed`; `end` |
/// | fetching | | `received`; `end` |
/// | sent | | `answered`; `end` |
///
/// A renewal that fails ends in the state idle: the connection ends when its credential expires, and the next one has
/// another credential (C-66).
struct CredentialRenewal: Sendable {
    /// The part of the lifetime after which the renewal begins, and its random change, in per cent.
    static let lifetimePercent = 75
    static let jitterPercent = 5
    /// The time between the start of the renewal and the end of the lifetime.
    static let minRest: Duration = .seconds(1)
    /// The minimum time until a renewal begins, so that a server cannot request credentials without pause.
    static let minInterval: Duration = .seconds(1)

    private enum State: Equatable, Sendable {
        case idle
        case waiting(until: Instant)
        case fetching
        case sent
    }

    private var state = State.idle

    /// Whether the caller fetches a credential for the renewal.
    var isFetching: Bool { state == .fetching }

    /// The instant at which the renewal begins.
    var deadline: Instant? { if case .waiting(let until) = state { until } else { nil } }

    /// The credential of the connection is valid for a duration.
    ///
    /// - Parameter random: 64 uniform random bits.
    mutating func begin(lifetime: Duration, now: Instant, random: UInt64) {
        let usual = (lifetime * Self.lifetimePercent / 100).jittered(percent: Self.jitterPercent, random: random)
        state = .waiting(until: now + max(Self.minInterval, min(usual, lifetime - Self.minRest)))
    }

    /// Returns whether the caller has to fetch a credential.
    mutating func deadlinePassed(now: Instant) -> Bool {
        guard let deadline, deadline <= now else { return false }
        state = .fetching
        return true
    }

    /// The caller has a credential; nil if there is none. Returns whether it has to be sent.
    mutating func received(_ credential: Credential?) -> Bool {
        guard state == .fetching else { return false }
        state = credential == nil ? .idle : .sent
        return credential != nil
    }

    /// The server has taken the credential, which is valid for a duration, or does not expire. Returns false if none
    /// was sent.
    mutating func answered(lifetime: Duration?, now: Instant, random: UInt64) -> Bool {
        guard state == .sent else { return false }
        state = .idle
        if let lifetime { begin(lifetime: lifetime, now: now, random: random) }
        return true
    }

    /// The connection has ended.
    mutating func end() { state = .idle }
}

extension CredentialRenewal: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, instant) = (0, deadline ?? .zero)
        switch state {
        case .idle: break
        case .waiting: index = 1
        case .fetching: index = 2
        case .sent: index = 3
        }
        switch try archive.tag(index, below: 4) {
        case 0: state = .idle
        case 1:
            try instant.archive(&archive)
            state = .waiting(until: instant)
        case 2: state = .fetching
        default: state = .sent
        }
    }
}
