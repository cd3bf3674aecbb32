/// The kind of the network interface of a path.
public enum PathKind: Hashable, Sendable, CaseIterable {
    /// A wired network.
    case wired
    /// A wireless local network.
    case wifi
    /// A cellular network.
    case cellular
    /// The loopback interface.
    case loopback
    /// Another or unknown interface.
    case other
}

/// The identity of a network: a hash that the caller computes from its properties, for example interface, gateway,
/// operator and network name.
///
/// The hash of a network is always the same. It is never sent.
package struct NetworkID: RawRepresentable, Hashable, Sendable {
    /// The hash.
    package var rawValue: UInt64

    /// Creates the identity with a hash.
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// The state of the network path, as reported by a path monitor.
package struct PathStatus: Hashable, Sendable {
    /// Whether there is a path.
    package var isUp: Bool
    /// The kind of the preferred interface.
    package var kind: PathKind
    /// The network of the preferred interface.
    package var network: NetworkID
    /// The addresses of this machine, as text, on all interfaces that are up.
    package var addresses: Set<String>

    /// Creates a status.
    package init(isUp: Bool, kind: PathKind, network: NetworkID, addresses: Set<String> = []) {
        self.isUp = isUp
        self.kind = kind
        self.network = network
        self.addresses = addresses
    }

    /// The status without a path.
    package static let down = PathStatus(isUp: false, kind: .other, network: NetworkID(rawValue: 0))
}
