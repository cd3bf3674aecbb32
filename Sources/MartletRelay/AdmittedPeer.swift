import MartletProtocol
import MartletTransport
import MartletWire

/// The share of an accepted connection in the limits of its address.
///
/// The share ends with its last reference. A connection and its authentication therefore count until the connection has
/// closed and the authenticator has answered, regardless of the loop and of errors.
final class AdmittedPeer: Sendable {
    private struct State {
        /// Whether the connection is not authenticated yet.
        var isHandshake = true
        /// Whether an authentication is in progress.
        var isAuthenticating = false
        /// Whether the authenticator decides about a message of it.
        var isDeciding = false

        mutating func note(_ start: PeerLimiter.Start) { isDeciding = start == .authenticate(after: .zero) }
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
            if state.isDeciding { limiter.decisionEnded(from: prefix) }
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

    /// Reports a hello, or the renewal of a credential on an authenticated connection. A renewal is not refused because
    /// of failures of other clients at the same address (C-67).
    func authenticationBegan(of account: AccountName, now: Instant) -> PeerLimiter.Start {
        state.withLock { state in
            parts.limiter.withLock { limiter in
                guard state.isHandshake else { return .authenticate(after: limiter.delay(of: account, now: now)) }
                let start = limiter.authenticationBegan(of: account, from: prefix, now: now)
                if case .authenticate = start { state.isAuthenticating = true }
                state.note(start)
                return start
            }
        }
    }

    /// Reports that a message is ready for the authenticator, after its delay or as a further one of an exchange.
    /// `waited` is the delay of the authentication so far.
    func decisionBegan(of account: AccountName, waited: Duration, now: Instant) -> PeerLimiter.Start {
        state.withLock { state in
            parts.limiter.withLock { limiter in
                guard state.isHandshake else {
                    return .authenticate(after: max(limiter.delay(of: account, now: now) - waited, .zero))
                }
                let start = limiter.decisionBegan(of: account, from: prefix, waited: waited, now: now)
                state.note(start)
                return start
            }
        }
    }

    /// Reports that the resume of an authenticated peer was refused. The connection may send another hello (C-34),
    /// which has the limits of a first one (C-67).
    func handshakeResumed() {
        state.withLock { state in
            guard !state.isHandshake else { return }
            state.isHandshake = true
            parts.limiter.withLock { $0.handshakeResumed(prefix) }
        }
    }

    /// Reports the answer of the authenticator. An answer without a decision about the credential counts as neither
    /// success nor failure.
    func authenticationEnded(
        of account: AccountName, _ verdict: AuthenticationVerdict, now: Instant
    ) {
        let before = state.withLock { state in
            defer {
                state.isDeciding = false
                switch verdict {
                case .challenge: break
                case .accepted: (state.isAuthenticating, state.isHandshake) = (false, false)
                case .refused: state.isAuthenticating = false
                }
            }
            return state
        }
        // A failed decision counts without an interruption: first in progress, then as a failure (C-67).
        parts.limiter.withLock { limiter in
            if before.isDeciding { limiter.decisionEnded(from: prefix) }
            if case .challenge = verdict { return }
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
