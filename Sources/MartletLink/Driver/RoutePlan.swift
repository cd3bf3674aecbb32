package import MartletTransport

/// The routes to a server that a client may try, in their order (C-127).
package struct RoutePlan: Sendable {
    /// A route with its addresses.
    package struct Candidate: Sendable {
        /// The addresses of the server on this route. With a proxy there is one.
        package let endpoints: [Endpoint]
        package let proxy: SelectedProxy?
        /// Whether the addresses are those of a WebSocket on port 443 in place of the server's own.
        package let isWebSocket: Bool

        var key: RouteMemory.Key { RouteMemory.Key(usesProxy: proxy != nil, isWebSocket: isWebSocket) }
    }

    /// The port of the WebSocket.
    private static let webSocketPort: UInt16 = 443

    package private(set) var candidates: [Candidate] = []
    /// The number of routes at the end that start only when no other is left.
    private var postponedCount = 0
    /// Whether the other routes have the whole attempt.
    fileprivate var isTurnOfOthers = false
    /// The network whose memory has ordered the routes, and learns from them; nil for none.
    fileprivate var network: NetworkID?
    /// Whether a route was removed.
    private var isReduced = false
    private var remembered: RouteMemory.Key?
    private var believesRefusals = false

    /// - Parameters:
    ///   - endpoints: The addresses of the server.
    ///   - turn: A number that chooses one of several addresses for a proxy.
    ///   - usesWebSocket: Whether a WebSocket on port 443 of the server's host may be tried.
    package init(to endpoints: [Endpoint], proxies: ProxySelector, turn: Int = 0, usesWebSocket: Bool) {
        var direct = endpoints
        var proxied: [(Endpoint, SelectedProxy)] = []
        for endpoint in endpoints {
            guard let proxy = proxies.proxy(for: endpoint) else { continue }
            proxied.append((endpoint, proxy))
            if proxy.isExclusive { direct.removeAll { $0 == endpoint } }
        }
        if !proxied.isEmpty {
            let (endpoint, proxy) = proxied[turn % proxied.count]
            append([endpoint], proxy, proxies, usesWebSocket)
        }
        if !direct.isEmpty { append(direct, nil, proxies, usesWebSocket) }
    }

    /// Adds the route to endpoints, and that to their WebSockets. Only an address with TLS and the default port has
    /// one: another port chooses one of several servers of the host, which may not be that on port 443.
    private mutating func append(
        _ endpoints: [Endpoint], _ proxy: SelectedProxy?, _ proxies: ProxySelector, _ usesWebSocket: Bool
    ) {
        candidates.append(Candidate(endpoints: endpoints, proxy: proxy, isWebSocket: false))
        guard usesWebSocket else { return }
        // The exclusions of proxies may name a port, so each route is judged by its own.
        func permits(_ other: Endpoint, _ endpoint: Endpoint) -> Bool {
            let known = proxies.faults(for: endpoint)
            guard proxies.faults(for: other).allSatisfy(known.contains) else { return false }
            let selected = proxies.proxy(for: other)
            if proxy == nil { return selected == nil || selected == proxies.proxy(for: endpoint) }
            return selected != nil
        }
        var others: [Endpoint] = []
        for endpoint in endpoints
        where endpoint.security == .tls && endpoint.webSocketPath == nil && endpoint.port == Endpoint.defaultPort
            && !endpoint.isLocal
        {
            guard
                let other = try? Endpoint(
                    host: endpoint.host, port: Self.webSocketPort, webSocketPath: Endpoint.defaultWebSocketPath),
                !others.contains(other), permits(other, endpoint)
            else { continue }
            others.append(other)
        }
        if !others.isEmpty { candidates.append(Candidate(endpoints: others, proxy: proxy, isWebSocket: true)) }
    }

    /// Whether there are several routes, or a proxy.
    package var hasChoice: Bool { candidates.count > 1 || candidates.contains { $0.proxy != nil } }

    /// Moves the route that has worked before to the front.
    ///
    /// - Parameter believesRefusals: Whether the refusal of a direct connection ends the attempt.
    mutating func prefer(_ key: RouteMemory.Key?, believesRefusals: Bool = false) {
        guard let key, let index = candidates.firstIndex(where: { $0.key == key }) else { return }
        (remembered, self.believesRefusals) = (key, believesRefusals)
        candidates.insert(candidates.remove(at: index), at: 0)
    }

    /// Moves the routes on which no relay has answered to the end, in this order.
    ///
    /// - Parameter isTurnOfOthers: Whether the other routes have the whole attempt in place of `guessTimeout`.
    mutating func postpone(_ keys: [RouteMemory.Key], isTurnOfOthers: Bool) {
        self.isTurnOfOthers = isTurnOfOthers
        let late = keys.compactMap { key in candidates.first { $0.key == key } }
        candidates.removeAll { keys.contains($0.key) }
        postponedCount = candidates.isEmpty ? 0 : late.count
        candidates += late
    }

    /// Keeps one route only, that which carries a connection.
    mutating func keep(_ key: RouteMemory.Key) {
        guard let candidate = candidates.first(where: { $0.key == key }) else { return }
        (candidates, postponedCount) = ([candidate], 0)
    }

    /// Keeps the route of this number only.
    package func only(_ index: Int) -> RoutePlan {
        var plan = self
        plan.candidates = [candidates[index]]
        plan.postponedCount = 0
        return plan
    }

    /// Removes the route of this number.
    package mutating func remove(_ index: Int) {
        candidates.remove(at: index)
        isReduced = true
    }

    /// Whether the route has worked on this network before.
    func isRemembered(_ index: Int) -> Bool { candidates[index].key == remembered }

    /// Whether an error of a route ends the race: the refusal of a direct connection to the server's own port. Its host
    /// is reached, so no other route is better (C-94).
    func endsRace(_ error: TransportError, on index: Int) -> Bool {
        let candidate = candidates[index]
        return believesRefusals && isRemembered(index) && candidate.proxy == nil && !candidate.isWebSocket
            && error.isRefusal
    }

    /// The race between the routes. Where one is remembered, the others are guesses, as a WebSocket is otherwise. All
    /// are where some are postponed, so that the time is sufficient for these. In the turn of the others none is.
    func race(deadline: Instant) -> RouteRace {
        let timeouts = candidates.indices.map { index in
            let isGuess =
                postponedCount > 0
                ? index < candidates.count - postponedCount
                : remembered == nil ? candidates[index].isWebSocket : !isRemembered(index)
            return isGuess && !isTurnOfOthers && candidates.count > 1 ? RouteRace.guessTimeout : nil
        }
        return RouteRace(
            timeouts: timeouts, postponedCount: postponedCount, deadline: candidates.count > 1 ? deadline : nil)
    }

    /// The description of a route and of the reason why it carries the connection.
    package func route(_ index: Int) -> ConnectionRoute {
        let candidate = candidates[index]
        let reason: ConnectionRoute.Reason =
            switch candidate.proxy?.source {
            case _ where isRemembered(index): .remembered
            case .configuration?: .configured
            case .variable(let name)?: .environment(variable: name)
            case nil: candidates.count > 1 || isReduced ? .firstToAnswer : .only
            }
        return ConnectionRoute(
            proxy: candidate.proxy?.address.endpoint.hostAndPort, isWebSocket: candidate.isWebSocket, reason: reason)
    }
}

extension RouteMemory {
    /// Returns the routes of the attempt that begins now, to the addresses of the configuration on a network.
    mutating func plan(
        to endpoints: [Endpoint], proxies: ProxySelector, usesWebSocket: Bool, on network: NetworkID
    ) -> RoutePlan {
        let turn = takeTurn(on: network)
        var plan = RoutePlan(to: endpoints, proxies: proxies, turn: turn.address, usesWebSocket: usesWebSocket)
        plan.prefer(route(on: network), believesRefusals: believesRefusals(on: network))
        plan.postpone(suspects(on: network), isTurnOfOthers: turn.isOfOthers)
        plan.network = network
        return plan
    }

    /// A route of a plan has carried a connection to the end of its handshake. The path may have changed since the
    /// attempt began. The target of a redirect teaches nothing, because a route to it may not be one to the server.
    mutating func opened(_ id: ConnectionID, on index: Int, of plan: RoutePlan, network: NetworkID) {
        guard plan.network != nil else { return }
        opened(id, on: plan.candidates[index].key, of: plan.candidates.map(\.key), network: network)
    }

    /// An attempt has ended without a handshake.
    ///
    /// - Parameter isRefusal: Whether the host of the server has answered that no server listens.
    mutating func failed(_ plan: RoutePlan, isRefusal: Bool, on network: NetworkID) {
        guard let begin = plan.network else { return }
        if plan.isTurnOfOthers { turnOfOthersFailed(on: begin) }
        if isRefusal { noteRefusal(on: network) }
    }
}
