/// The network path of this machine.
package struct PathSnapshot: Sendable, Equatable {
    /// The kind of the first link of the path.
    package enum Kind: Sendable {
        case wired
        case wifi
        case cellular
        /// Only this machine is reachable.
        case loopbackOnly
        case unknown
    }

    /// Whether there is a default route, or an address on a running interface.
    package var isUp: Bool
    /// The kind of the default route's interface, or else of the first running interface.
    package var kind: Kind
    /// The addresses of running interfaces, without loopback and link-local addresses, sorted.
    package var addresses: [IPAddress]
    /// The name of the default route's interface.
    package var defaultInterface: String?

    /// Creates a snapshot, for tests and other monitors.
    package init(isUp: Bool, kind: Kind, addresses: [IPAddress] = [], defaultInterface: String? = nil) {
        self.isUp = isUp
        self.kind = kind
        self.addresses = addresses
        self.defaultInterface = defaultInterface
    }

    /// A path on which only this machine is reachable.
    package static let loopbackOnly = PathSnapshot(isUp: false, kind: .loopbackOnly)
}
