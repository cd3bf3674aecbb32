/// What a change of path means to a connection (C-54).
///
/// A socket cannot move: when the address that it is bound to is gone, so is the connection, whatever TCP still hopes.
/// A change that leaves the address in place may or may not have broken it; a probe finds out within seconds, and a
/// connection that does not answer is replaced by what the ``Heartbeat`` then says. So a better path never costs a
/// connection that works.
public enum PathChange: Hashable, Sendable {
    /// Nothing that the connection would notice.
    case none
    /// The connection may be broken: ask the peer at once.
    case probe
    /// The connection is broken: replace it now.
    case redial
    /// There is no path: wait for one.
    case pause

    /// What going from `old` to `new` means to a connection whose local address is `localAddress`, if it is known.
    public init(from old: PathStatus, to new: PathStatus, localAddress: String?) {
        guard new.isUp else {
            self = old.isUp ? .pause : .none
            return
        }
        if let localAddress, !new.addresses.contains(localAddress) {
            self = .redial
        } else if !old.isUp || old.kind != new.kind || old.network != new.network {
            self = .probe
        } else {
            self = .none
        }
    }
}
