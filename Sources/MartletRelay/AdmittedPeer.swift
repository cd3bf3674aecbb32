import MartletProtocol
import MartletTransport
import MartletWire

/// The share of an accepted connection in the limits of its address.
///
/// The share ends with its last reference, so a connection and its authentication are counted until the connection has
/// closed and the authenticator has answered, on every path and on every loop.
final class AdmittedPeer: Sendable {
    private struct State {
        /// Whether the connection is not authenticated yet.
        var isHandshake = true
        /// Whether an authentication is in progress.
        var isAuthenticating = false
    }

    private let prefix: AddressPrefix
    private let parts: RelayParts
    private let state = Guarded(State())

    private init(_ prefix: AddressPrefix, _ parts: RelayParts) {
        self.prefix = prefix
        self.parts = parts
    }

    deinit {
        let state = state.withLock { $0 }
        parts.limiter.withLock { limiter in
            if state.isAuthenticating { limiter.authenticationEnded(from: prefix) }
            limiter.closed(prefix, isHandshake: state.isHandshake)
        }
    }

    /// Admits a connection; nil if it is to be closed without a byte (C-11).
    static func admit(_ address: SocketAddress?, to parts: RelayParts, now: Instant) -> AdmittedPeer? {
        let prefix = AddressPrefix(address?.ip ?? .anyV4)
        switch parts.limiter.withLock({ $0.accepted(prefix, now: now) }) {
        case .admit: return AdmittedPeer(prefix, parts)
        case .refuse(let report):
            if let report { parts.onEvent(.connectionsRefused(report, latest: address)) }
            return nil
        }
    }

    /// The peer has sent a hello, or another credential on an authenticated connection. The latter is not refused for
    /// the failures of other clients at its address (C-67).
    func authenticationBegan(of account: AccountName, now: Instant) -> PeerLimiter.Start {
        state.withLock { state in
            parts.limiter.withLock { limiter in
                guard state.isHandshake else { return .authenticate(after: limiter.delay(of: account, now: now)) }
                let start = limiter.authenticationBegan(of: account, from: prefix, now: now)
                if case .authenticate = start { state.isAuthenticating = true }
                return start
            }
        }
    }

    /// The peer has sent a further message of its exchange, which has waited for a duration before.
    func authenticationContinued(of account: AccountName, waited: Duration, now: Instant) -> PeerLimiter.Start {
        parts.limiter.withLock { $0.authenticationContinued(of: account, from: prefix, waited: waited, now: now) }
    }

    /// The duration for which the address of an unauthenticated peer is refused; nil if it is not.
    func refusal(now: Instant) -> Duration? {
        guard state.withLock({ $0.isHandshake }) else { return nil }
        return parts.limiter.withLock { $0.refusal(of: prefix, now: now) }
    }

    /// The authenticator has answered. An answer without a decision about the credential is neither success nor
    /// failure.
    func authenticationEnded(
        of account: AccountName, _ verdict: AuthenticationVerdict, now: Instant
    ) {
        if case .challenge = verdict { return }
        let before = state.withLock { state in
            defer {
                state.isAuthenticating = false
                if case .accepted = verdict { state.isHandshake = false }
            }
            return state
        }
        parts.limiter.withLock { limiter in
            if before.isAuthenticating { limiter.authenticationEnded(from: prefix) }
            switch verdict {
            case .accepted: if before.isHandshake { limiter.handshakeEnded(prefix) }
            case .challenge: break
            case .refused(let failure):
                guard failure.notice.code == .unauthenticated else { return }
                limiter.authenticationFailed(of: account, from: prefix, now: now)
            }
        }
    }
}

extension AddressPrefix {
    /// The prefix of an address: all of an IPv4 address, 64 bits of an IPv6 address.
    init(_ address: IPAddress) {
        let bits = address.bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        if address.isIPv6 { self.init(v6High: bits) } else { self.init(v4: UInt32(truncatingIfNeeded: bits)) }
    }
}
