/// What this machine's way to the network looks like.
public struct PathSnapshot: Sendable, Equatable {
    /// What kind of link the path begins with.
    public enum Kind: Sendable {
        case wired
        case wifi
        case cellular
        /// Only this machine itself can be reached.
        case loopbackOnly
        case unknown
    }

    /// There is a default route, or at least an address on a running interface.
    public var isUp: Bool
    /// Of the interface of the default route, else of the first that runs.
    public var kind: Kind
    /// Of running interfaces, without loopback and link-local ones, sorted.
    public var addresses: [IPAddress]
    /// The name of the interface that the default route leads out of.
    public var defaultInterface: String?

    /// A path in these words, for tests and for monitors of other kinds.
    public init(isUp: Bool, kind: Kind, addresses: [IPAddress] = [], defaultInterface: String? = nil) {
        self.isUp = isUp
        self.kind = kind
        self.addresses = addresses
        self.defaultInterface = defaultInterface
    }

    /// Nothing but this machine.
    public static let loopbackOnly = PathSnapshot(isUp: false, kind: .loopbackOnly)
}
