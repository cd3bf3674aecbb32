/// What a path to the network runs over.
public enum PathKind: Hashable, Sendable, CaseIterable {
    /// A cable.
    case wired
    /// A wireless local network.
    case wifi
    /// A mobile operator's network.
    case cellular
    /// This machine only.
    case loopback
    /// Anything else, or not known.
    case other
}

/// Tells networks apart: the caller's hash of what it knows (interface, gateway, operator, network name).
///
/// The same network must give the same value each time; what is in it is never sent.
public struct NetworkID: RawRepresentable, Hashable, Sendable {
    /// The caller's hash.
    public var rawValue: UInt64

    /// The network with that hash.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// The way to the network at one moment, as a path monitor sees it.
public struct PathStatus: Hashable, Sendable {
    /// Whether there is a way at all.
    public var isUp: Bool
    /// What the preferred way runs over.
    public var kind: PathKind
    /// Which network the preferred way is on.
    public var network: NetworkID
    /// This machine's addresses, as text, on all interfaces that are up.
    public var addresses: Set<String>

    /// A status with these parts.
    public init(isUp: Bool, kind: PathKind, network: NetworkID, addresses: Set<String> = []) {
        self.isUp = isUp
        self.kind = kind
        self.network = network
        self.addresses = addresses
    }

    /// No way to any network.
    public static let down = PathStatus(isUp: false, kind: .other, network: NetworkID(rawValue: 0))
}
