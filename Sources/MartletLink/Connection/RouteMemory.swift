/// The routes that have worked on the latest networks (C-127).
struct RouteMemory: Sendable {
    /// The maximum number of networks. Beyond it the one that was used least recently is forgotten.
    static let maxNetworkCount = 16
    /// The maximum number of consecutive refusals that end an attempt without other routes.
    static let maxRefusalCount = 8

    /// A route without the reason for its use and without the address of a proxy.
    struct Key: Hashable, Sendable {
        var usesProxy: Bool
        var isWebSocket: Bool
    }

    private struct Entry: Sendable {
        let network: NetworkID
        let key: Key
        /// The number of attempts that the host of the server has refused since the route has worked.
        var refusalCount = 0
    }

    /// The networks, the one that was used last at the end.
    private var entries: [Entry] = []

    /// Returns the route that has worked on a network; nil if none is known.
    func route(on network: NetworkID) -> Key? { entries.last { $0.network == network }?.key }

    /// A route has worked.
    mutating func remember(_ key: Key, on network: NetworkID) {
        entries.removeAll { $0.network == network }
        entries.append(Entry(network: network, key: key))
        if entries.count > Self.maxNetworkCount { entries.removeFirst() }
    }

    /// The host of the server has answered that no server listens.
    mutating func noteRefusal(on network: NetworkID) {
        guard let index = entries.firstIndex(where: { $0.network == network }) else { return }
        entries[index].refusalCount = min(entries[index].refusalCount + 1, Self.maxRefusalCount)
    }

    /// Whether a refusal on the direct route means that the server is down, and not that the network has changed.
    func believesRefusals(on network: NetworkID) -> Bool {
        entries.contains { $0.network == network && $0.refusalCount < Self.maxRefusalCount }
    }
}
