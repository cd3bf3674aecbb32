/// The effect of a change of the network path on a connection (C-54).
///
/// A connection whose local address is no longer available has failed, even if TCP has not reported it. A change that
/// preserves the address may have interrupted the connection. A probe determines this within seconds, and ``Heartbeat``
/// reports a connection that does not answer. A better path therefore never ends a working connection.
package enum PathChange: Hashable, Sendable {
    /// The change does not affect the connection.
    case none
    /// The connection may be interrupted, and the client probes it at once.
    case probe
    /// The connection has failed, and the client replaces it at once.
    case replace
    /// There is no path, and attempts are delayed (C-109).
    case pause

    /// Creates the effect of a change.
    ///
    /// - Parameters:
    ///   - old: The path before the change.
    ///   - new: The path after the change.
    ///   - localAddress: The local address of the connection; nil if it is unknown.
    package init(from old: PathStatus, to new: PathStatus, localAddress: String?) {
        guard new.isUp else {
            self = old.isUp ? .pause : .none
            return
        }
        if let localAddress, !new.addresses.contains(localAddress) {
            self = .replace
        } else if !old.isUp || old.kind != new.kind || old.network != new.network {
            self = .probe
        } else {
            self = .none
        }
    }
}
