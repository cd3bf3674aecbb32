import MartletTransport
import Testing

@testable import MartletLink

/// Attempts of a client on networks where something else than a relay completes the handshake of a route, in virtual
/// time (C-127, Specs/hostile.md row 116).
@Suite("Routes without a relay")
struct UnansweredRouteTests {
    /// What a route leads to.
    private enum Peer {
        /// A relay, behind handshakes of this duration.
        case relay(after: Duration)
        /// A peer that completes the handshakes, and answers no hello.
        case silent(after: Duration)
        /// A peer that completes the handshakes, and ends the connection.
        case ending(after: Duration)
        /// No server listens.
        case refusing
        /// Packets are dropped.
        case dropping

        /// The duration of the handshakes; nil if they are never complete.
        var handshake: Duration? {
            switch self {
            case .relay(let time), .silent(let time), .ending(let time): time
            case .refusing, .dropping: nil
            }
        }
    }

    /// A client's routes, and its attempts.
    private struct Script {
        private static let network = NetworkID(rawValue: 1)

        /// By the host of the server, and the keys of the routes.
        private var peers: [String: [String: Peer]]
        private let endpoints: [Endpoint]
        private let proxies: ProxySelector
        private let deadlines = ConnectionMachine.Deadlines()
        private var memory = RouteMemory()
        private var latest = ConnectionID.none
        /// The time of the attempts, without the waits between them.
        private(set) var now = Instant.zero

        /// - Parameter peers: By the keys of the routes.
        init(_ peers: [String: Peer]) {
            self.init(["a"], peers, proxy: peers["proxy"] == nil ? nil : "http://p")
        }

        /// A client of several hosts that are reached in the same way.
        init(_ hosts: [String], _ peers: [String: Peer], proxy: String?) {
            endpoints = hosts.map(Self.endpoint)
            self.peers = Dictionary(uniqueKeysWithValues: hosts.map { ($0, peers) })
            proxies = ProxySelector(.automatic) { $0 == "ALL_PROXY" ? proxy : nil }
        }

        private static func endpoint(_ host: String) -> Endpoint { try! Endpoint(parsing: "martlets://\(host)") }

        /// Changes what a route to a host leads to.
        mutating func lead(_ key: String, of host: String = "a", to peer: Peer) {
            peers[host, default: [:]][key] = peer
        }

        private func peer(_ plan: RoutePlan, _ index: Int) -> Peer {
            peers[plan.candidates[index].endpoints[0].host]?[plan.route(index).key] ?? .refusing
        }

        /// Makes an attempt. Returns the route and its result.
        ///
        /// - Parameter redirect: The host to which the server has redirected the client.
        mutating func attempt(redirect: String? = nil) -> String {
            let usesWebSocket = peers.values.contains { $0.keys.contains { $0.hasPrefix("webSocket") } }
            let plan =
                redirect.map { RoutePlan(to: [Self.endpoint($0)], proxies: proxies, usesWebSocket: usesWebSocket) }
                ?? memory.plan(to: endpoints, proxies: proxies, usesWebSocket: usesWebSocket, on: Self.network)
            latest = latest.next
            guard let winner = race(plan) else {
                memory.failed(plan, isRefusal: false, on: Self.network)
                return "none"
            }
            let key = plan.route(winner).key
            memory.opened(latest, on: winner, of: plan, network: Self.network)
            switch peer(plan, winner) {
            case .relay:
                memory.answered(latest)
                memory.ended(latest)
                return "\(key) online"
            case .silent: now = now + deadlines.handshake
            default: break
            }
            memory.failed(latest)
            memory.ended(latest)
            return "\(key) failed"
        }

        /// Performs the race, and returns its winner.
        private mutating func race(_ plan: RoutePlan) -> Int? {
            var race = plan.race(deadline: now + deadlines.connecting)
            var ends: [(at: Instant, index: Int)] = []
            while true {
                switch race.nextOutput(now: now) {
                case .start(let index):
                    let peer = peer(plan, index)
                    if case .refusing = peer { race.failed(index) }
                    if let handshake = peer.handshake { ends.append((now + handshake, index)) }
                case .abandon(let index): ends.removeAll { $0.index == index }
                case .finish(let winner): return winner
                case .wait(let deadline):
                    let next = ends.min { $0.at < $1.at }
                    if let next, deadline.map({ next.at <= $0 }) ?? true {
                        now = next.at
                        ends.removeAll { $0.index == next.index }
                        race.connected(next.index)
                    } else if let deadline {
                        now = deadline
                    } else {
                        return nil
                    }
                }
            }
        }
    }

    private static func attempts(_ count: Int, _ peers: [String: Peer]) -> [String] {
        var script = Script(peers)
        return (0..<count).map { _ in script.attempt() }
    }

    // C-127
    @Test func `a first route that stalls → the next attempt is online on the other one`() {
        var script = Script(["direct": .silent(after: .zero), "webSocket": .relay(after: .milliseconds(50))])
        #expect(script.attempt() == "direct failed")
        #expect(script.now == .zero + .seconds(10))
        #expect(script.attempt() == "webSocket online")
        #expect(script.now == .zero + .milliseconds(10_050))
        #expect(script.attempt() == "webSocket online")
    }

    // C-127
    @Test func `a first route that ends at once, and a slow second one → the slow one has its time alone`() {
        // Slower than the delay between routes, after which the first one would win again.
        let peers = ["direct": Peer.ending(after: .zero), "webSocket": .relay(after: .seconds(4))]
        #expect(Self.attempts(3, peers) == ["direct failed", "webSocket online", "webSocket online"])
    }

    // C-127
    @Test func `two fast routes without a relay, and a slow one with it → online at the third attempt`() {
        let peers = [
            "proxy": Peer.silent(after: .zero), "direct": .relay(after: .seconds(3)),
            "webSocket": .ending(after: .zero),
        ]
        #expect(
            Self.attempts(4, peers) == ["proxy failed", "webSocket failed", "direct online", "direct online"])
    }

    // C-127
    @Test func `a route without a relay beside one that drops packets → it is tried again in the same attempt`() {
        var script = Script(["direct": .dropping, "webSocket": .ending(after: .zero)])
        #expect(script.attempt() == "webSocket failed")
        let before = script.now
        #expect(script.attempt() == "webSocket failed")
        #expect(script.now == before + RouteRace.guessTimeout)
    }

    // C-127
    @Test func `a route without a relay, and one that needs 8 s → online at the third attempt and at each later one`() {
        var script = Script(["direct": .ending(after: .zero), "webSocket": .relay(after: .seconds(8))])
        #expect(script.attempt() == "direct failed")
        #expect(script.attempt() == "direct failed")
        #expect(script.now == Instant.zero + RouteRace.guessTimeout)
        for number in 1...3 {
            #expect(script.attempt() == "webSocket online")
            #expect(script.now == Instant.zero + (RouteRace.guessTimeout + .seconds(8) * number))
        }
    }

    // C-127
    @Test func `a first route that drops packets, and one that needs 8 s → online at the fourth attempt`() {
        let peers = ["direct": Peer.dropping, "webSocket": .relay(after: .seconds(8))]
        #expect(Self.attempts(5, peers) == ["none", "none", "none", "webSocket online", "webSocket online"])
    }

    // C-127
    @Test func `a route that works, later drops packets, and one that needs 8 s → online at the fourth attempt`() {
        var script = Script(["direct": .relay(after: .zero), "webSocket": .relay(after: .seconds(8))])
        #expect(script.attempt() == "direct online")
        script.lead("direct", to: .dropping)
        #expect((0..<4).map { _ in script.attempt() } == ["none", "none", "none", "webSocket online"])
    }

    // C-127
    @Test func `two routes without a relay, and one that needs 8 s → it is online at the fourth attempt`() {
        let peers = [
            "proxy": Peer.silent(after: .zero), "direct": .relay(after: .seconds(8)),
            "webSocket": .ending(after: .zero),
        ]
        #expect(Self.attempts(4, peers) == ["proxy failed", "webSocket failed", "proxy failed", "direct online"])
    }

    // C-127
    @Test func `a suspect route that drops packets, and one that needs 8 s → online at the third attempt`() {
        var script = Script(["direct": .ending(after: .zero), "webSocket": .relay(after: .seconds(8))])
        #expect(script.attempt() == "direct failed")
        script.lead("direct", to: .dropping)
        #expect(script.attempt() == "none")
        #expect(script.attempt() == "webSocket online")
    }

    // C-127
    @Test func `a slow route that works, later drops packets, and a suspect one with a relay → online in two attempts`()
    {
        var script = Script(["direct": .ending(after: .zero), "webSocket": .relay(after: .seconds(8))])
        #expect((0..<3).map { _ in script.attempt() } == ["direct failed", "direct failed", "webSocket online"])
        script.lead("webSocket", to: .dropping)
        script.lead("direct", to: .relay(after: .zero))
        #expect(script.attempt() == "none")
        #expect(script.attempt() == "direct online")
    }

    // C-127
    @Test func `no relay on any route → each is tried in turn`() {
        let peers = ["direct": Peer.ending(after: .zero), "webSocket": .ending(after: .zero)]
        #expect(
            Self.attempts(4, peers) == ["direct failed", "webSocket failed", "direct failed", "webSocket failed"])
    }

    // C-127
    @Test func `a proxy without a relay behind it, and a refusal → the other route, then the proxy in the end`() {
        let peers = ["proxy": Peer.silent(after: .zero), "direct": .refusing]
        #expect(Self.attempts(2, peers) == ["proxy failed", "proxy failed"])
    }

    // C-127
    @Test func `a working route that later leads to another server → the other one, which is then remembered`() {
        var script = Script(["direct": .relay(after: .zero), "webSocket": .relay(after: .zero)])
        #expect(script.attempt() == "direct online")
        script.lead("direct", to: .silent(after: .zero))
        #expect(script.attempt() == "direct failed")
        #expect(script.attempt() == "webSocket online")
        script.lead("direct", to: .relay(after: .zero))
        #expect(script.attempt() == "webSocket online")
    }

    // C-127
    @Test func `a redirect to a host that only the suspect route reaches → online there after each redirect`() {
        var script = Script(["direct": .ending(after: .zero), "webSocket": .relay(after: .milliseconds(100))])
        script.lead("direct", of: "b", to: .relay(after: .milliseconds(50)))
        script.lead("webSocket", of: "b", to: .dropping)
        #expect(script.attempt() == "direct failed")
        for _ in 0..<4 {
            #expect(script.attempt() == "webSocket online")
            #expect(script.attempt(redirect: "b") == "direct online")
        }
    }

    // C-127
    @Test func `a redirect to a host without a relay → the routes to the server are as before`() {
        var script = Script(["direct": .relay(after: .zero), "webSocket": .relay(after: .zero)])
        script.lead("direct", of: "b", to: .ending(after: .zero))
        script.lead("webSocket", of: "b", to: .ending(after: .zero))
        for _ in 0..<3 {
            #expect(script.attempt() == "direct online")
            #expect(script.attempt(redirect: "b") == "direct failed")
        }
    }

    // C-127
    @Test(arguments: [["a", "b"], ["b", "a"]])
    func `two addresses through a proxy, and a restart of the one that is up → online again`(hosts: [String]) {
        let webSocket = ["webSocketThroughProxy": Peer.dropping]
        var script = Script(hosts, webSocket, proxy: "socks5h://p")
        script.lead("proxy", of: "a", to: .ending(after: .zero))
        script.lead("proxy", of: "b", to: .dropping)
        let first = [script.attempt(), script.attempt()]
        #expect(first.contains("proxy failed"))
        script.lead("proxy", of: "a", to: .relay(after: .milliseconds(100)))
        let later = (0..<8).map { _ in script.attempt() }
        #expect(later.prefix(4).contains("proxy online"))
        #expect(later.suffix(4).contains("proxy online"))
    }

    // C-127
    @Test func `three routes that drop packets, and a suspect one that needs 9 s → online after a turn of the others`()
    {
        var script = Script([
            "proxy": .dropping, "webSocketThroughProxy": .dropping, "direct": .ending(after: .zero),
            "webSocket": .dropping,
        ])
        #expect(script.attempt() == "direct failed")
        script.lead("direct", to: .relay(after: .seconds(9)))
        #expect((0..<3).map { _ in script.attempt() } == ["none", "none", "direct online"])
    }

    // C-127
    @Test func `a direct route that ended once, and a slower one that works → direct again after eight answers`() {
        var script = Script(["direct": .ending(after: .zero), "webSocket": .relay(after: .seconds(2))])
        #expect(script.attempt() == "direct failed")
        script.lead("direct", to: .relay(after: .zero))
        for _ in 0..<RouteMemory.maxAnswerCount { #expect(script.attempt() == "webSocket online") }
        #expect(script.attempt() == "direct online")
    }
}
