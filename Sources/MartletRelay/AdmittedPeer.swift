import MartletProtocol
import MartletTransport
import MartletWire

/// The share of an accepted connection in the limits of its address.
///
/// The share ends with its last reference, so a connection is counted until it has closed and its authentication has
/// ended, on every path and on every loop.
final class AdmittedPeer: Sendable {
    private let prefix: AddressPrefix
    private let parts: RelayParts
    /// Whether the connection is not authenticated yet.
    private let isHandshake = Guarded(true)

    private init(_ prefix: AddressPrefix, _ parts: RelayParts) {
        self.prefix = prefix
        self.parts = parts
    }

    deinit {
        let isHandshake = isHandshake.withLock { $0 }
        parts.limiter.withLock { $0.closed(prefix, isHandshake: isHandshake) }
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

    /// The peer has sent a hello.
    func authenticationBegan(of account: AccountName, now: Instant) -> PeerLimiter.Start {
        parts.limiter.withLock { $0.authenticationBegan(of: account, from: prefix, now: now) }
    }

    /// The authenticator has answered. An answer without a decision about the credential is neither success nor
    /// failure.
    func authenticationEnded(
        of account: AccountName, _ verdict: AuthenticationVerdict, now: Instant
    ) {
        switch verdict {
        case .accepted:
            let isFirst = isHandshake.withLock { isHandshake in
                defer { isHandshake = false }
                return isHandshake
            }
            if isFirst { parts.limiter.withLock { $0.handshakeEnded(prefix) } }
        case .challenge: break
        case .refused(let failure):
            guard failure.notice.code == .unauthenticated else { return }
            parts.limiter.withLock { $0.authenticationFailed(of: account, from: prefix, now: now) }
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
