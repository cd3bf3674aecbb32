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

        private var peers: [String: Peer]
        private let hasProxy: Bool
        private let deadlines = ConnectionMachine.Deadlines()
        private var memory = RouteMemory()
        private var latest = ConnectionID.none
        /// The time of the attempts, without the waits between them.
        private(set) var now = Instant.zero

        /// - Parameter peers: By the keys of the routes.
        init(_ peers: [String: Peer]) {
            (self.peers, hasProxy) = (peers, peers["proxy"] != nil)
        }

        private mutating func nextPlan() -> RoutePlan {
            let proxies = ProxySelector(.automatic) { $0 == "HTTPS_PROXY" && hasProxy ? "http://p" : nil }
            let usesWebSocket = peers["webSocket"] != nil
            var plan = RoutePlan(
                to: [try! Endpoint(parsing: "martlets://chat.example")], proxies: proxies, usesWebSocket: usesWebSocket)
            plan.prefer(
                memory.route(on: Self.network), believesRefusals: memory.believesRefusals(on: Self.network))
            plan.postpone(memory.suspects(on: Self.network), isTurnOfOthers: memory.takeTurn(on: Self.network))
            return plan
        }

        mutating func lead(_ key: String, to peer: Peer) { peers[key] = peer }

        /// Makes an attempt. Returns the route and its result.
        mutating func attempt() -> String {
            let plan = nextPlan()
            latest = latest.next
            guard let winner = race(plan) else { return "none" }
            let key = plan.route(winner).key
            memory.opened(
                latest, on: plan.candidates[winner].key, of: plan.candidates.map(\.key), network: Self.network)
            switch peers[key] {
            case .relay?:
                memory.answered(latest)
                memory.ended(latest)
                return "\(key) online"
            case .silent?: now = now + deadlines.handshake
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
                    let peer = peers[plan.route(index).key] ?? .refusing
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
    @Test func `a route without a relay, and one that needs 8 s → the slow one has every second attempt`() {
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
    @Test func `two routes without a relay, and one that needs 8 s → it is online at the fourth attempt`() {
        let peers = [
            "proxy": Peer.silent(after: .zero), "direct": .relay(after: .seconds(8)),
            "webSocket": .ending(after: .zero),
        ]
        #expect(Self.attempts(4, peers) == ["proxy failed", "webSocket failed", "proxy failed", "direct online"])
    }

    // C-127
    @Test func `a suspect route that drops packets, and one that needs 8 s → the slow one has every second attempt`() {
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
}
