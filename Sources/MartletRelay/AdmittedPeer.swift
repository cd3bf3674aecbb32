import MartletLink
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
        /// The decision of the authenticator in progress.
        var decision: PeerLimiter.Decision?
    }

    /// Nil for an address without limits, and for a forwarder.
    private let prefix: AddressPrefix?
    /// Whether the connection is one of a proxy that has not stated the address of its client (C-122).
    let isForwarder: Bool
    private let parts: RelayParts
    private let state = Guarded(State())

    private init(_ prefix: AddressPrefix?, isForwarder: Bool = false, _ parts: RelayParts) {
        self.prefix = prefix
        self.isForwarder = isForwarder
        self.parts = parts
    }

    deinit {
        let state = state.withLock { $0 }
        parts.limiter.withLock { limiter in
            if let decision = state.decision { limiter.decisionEnded(decision) }
            if let prefix { limiter.closed(prefix, isHandshake: state.isHandshake) }
            if isForwarder { limiter.forwarderEnded() }
        }
    }

    /// Admits a connection; nil if it is to be closed without a byte (C-11).
    ///
    /// - Parameter isForwarder: Whether the connection has a share of no address until a proxy has stated one.
    static func admit(
        _ address: SocketAddress?, isForwarder: Bool = false, to parts: RelayParts, now: Instant
    ) -> AdmittedPeer? {
        let ip = address?.ip ?? .anyV4
        // C-113
        let isUnlimited = parts.configuration.unlimitedPeers.contains { $0.contains(ip) }
        if isUnlimited, !isForwarder { return AdmittedPeer(nil, parts) }
        let prefix = isForwarder ? nil : AddressPrefix(ip)
        let answer = parts.limiter.withLock { limiter in
            prefix.map { limiter.accepted($0, now: now) } ?? limiter.acceptedForwarder(now: now)
        }
        switch answer {
        case .admit: return AdmittedPeer(prefix, isForwarder: isForwarder, parts)
        case .refuse(let report):
            if let report { parts.onEvent(.connectionsRefused(report, latest: address)) }
            return nil
        }
    }

    /// Reports that a message is ready for the authenticator: a hello, a further message of its exchange, or the
    /// renewal of a credential on an authenticated connection, which is not refused because of failures of other
    /// clients at the same address (C-67).
    func decisionBegan(of asked: AskedPeer, now: Instant) -> PeerLimiter.Start {
        state.withLock { state in
            parts.limiter.withLock { limiter in
                guard state.isHandshake, let prefix else {
                    return limiter.unlimitedDecisionBegan(of: asked.account, waited: asked.waited, now: now)
                }
                let start = limiter.decisionBegan(
                    of: PeerLimiter.Peer(asked.account, asked.device, from: prefix), waited: asked.waited, now: now)
                if case .decide(let decision) = start { state.decision = decision }
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
            if let prefix { parts.limiter.withLock { $0.handshakeResumed(prefix) } }
        }
    }

    /// Reports the answer of the authenticator. An answer without a decision about the credential counts as neither
    /// success nor failure.
    func authenticationEnded(of asked: AskedPeer, _ verdict: AuthenticationVerdict, now: Instant) {
        let before = state.withLock { state in
            defer {
                state.decision = nil
                if case .accepted = verdict { state.isHandshake = false }
            }
            return state
        }
        // A failed decision counts without an interruption: first in progress, then as a failure (C-67).
        parts.limiter.withLock { limiter in
            if let decision = before.decision { limiter.decisionEnded(decision) }
            let peer = prefix.map { PeerLimiter.Peer(asked.account, asked.device, from: $0) }
            switch verdict {
            case .challenge: break
            case .accepted:
                guard let peer else { break }
                limiter.authenticationSucceeded(of: peer, now: now)
                if before.isHandshake { limiter.handshakeEnded(peer.prefix) }
            case .refused(let failure):
                guard failure.notice.code == .unauthenticated else { break }
                if let peer {
                    limiter.authenticationFailed(of: peer, now: now)
                } else {
                    limiter.authenticationFailed(of: asked.account, now: now)
                }
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
