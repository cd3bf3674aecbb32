/// The routes that have worked on the latest networks (C-127).
struct RouteMemory: Sendable {
    /// The maximum number of networks. Beyond it the one that was used least recently is forgotten.
    static let maxNetworkCount = 16

    /// A route without the reason for its use and without the address of a proxy.
    struct Key: Hashable, Sendable {
        var usesProxy: Bool
        var isWebSocket: Bool
    }

    /// The networks and their routes, the one that was used last at the end.
    private var entries: [(network: NetworkID, key: Key)] = []

    /// Returns the route that has worked on a network; nil if none is known.
    func route(on network: NetworkID) -> Key? { entries.last { $0.network == network }?.key }

    /// A route has worked.
    mutating func remember(_ key: Key, on network: NetworkID) {
        forget(network)
        entries.append((network, key))
        if entries.count > Self.maxNetworkCount { entries.removeFirst() }
    }

    /// The route of a network has failed.
    mutating func forget(_ network: NetworkID) { entries.removeAll { $0.network == network } }

}
