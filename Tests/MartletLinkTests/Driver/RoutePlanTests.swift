import MartletTransport
import Testing

@testable import MartletLink

@Suite("The routes to a server")
struct RoutePlanTests {
    private static func plan(
        _ addresses: String..., variables: [String: String] = [:], turn: Int = 0, usesWebSocket: Bool = true
    ) throws -> RoutePlan {
        RoutePlan(
            to: try addresses.map { try Endpoint(parsing: $0) },
            proxies: ProxySelector(.automatic) { variables[$0] }, turn: turn, usesWebSocket: usesWebSocket)
    }

    /// The proxy and the addresses of each route.
    private static func routes(_ plan: RoutePlan) -> [String] {
        plan.candidates.map { each in
            let proxy = each.proxy.map { "\($0.address) → " } ?? ""
            return proxy + each.endpoints.map(\.description).joined(separator: " ")
        }
    }

    private static let http = ["HTTPS_PROXY": "http://ann:secret@proxy.example:3128"]
    private static let proxy = "http://proxy.example:3128 → "

    // C-127
    @Test func `no proxy → the address, then its WebSocket on port 443 with TLS only`() throws {
        #expect(
            Self.routes(try Self.plan("martlets://chat.example")) == [
                "martlets://chat.example:7227", "wss://chat.example:443/martlet",
            ])
        for address in [
            "martlet://chat.example:7227", "wss://chat.example:443/x", "martlets://chat.example:7300",
            "martlets://127.0.0.1:7227", "martlets://localhost:7227",
        ] {
            #expect(Self.routes(try Self.plan(address)) == [address])
        }
        #expect(try Self.plan("martlets://chat.example", usesWebSocket: false).candidates.count == 1)
        #expect(try !Self.plan("martlet://chat.example").hasChoice)
    }

    // C-127
    @Test func `an HTTP proxy of the environment → it is first, and direct connections follow`() throws {
        #expect(
            Self.routes(try Self.plan("martlets://chat.example", variables: Self.http)) == [
                Self.proxy + "martlets://chat.example:7227", Self.proxy + "wss://chat.example:443/martlet",
                "martlets://chat.example:7227", "wss://chat.example:443/martlet",
            ])
    }

    // C-127
    @Test func `a SOCKS proxy, or one of the configuration → no connection without it`() throws {
        let socks = ["ALL_PROXY": "socks5h://127.0.0.1:9050"]
        #expect(
            Self.routes(try Self.plan("martlets://chat.example", variables: socks)) == [
                "socks5h://127.0.0.1:9050 → martlets://chat.example:7227",
                "socks5h://127.0.0.1:9050 → wss://chat.example:443/martlet",
            ])
        #expect(try Self.plan("martlet://chat.example", variables: socks).hasChoice)
        let selector = ProxySelector(.proxy(try ProxyAddress("http://p:1"))) { _ in nil }
        let plan = RoutePlan(
            to: [try Endpoint(parsing: "martlet://chat.example")], proxies: selector, usesWebSocket: true)
        #expect(Self.routes(plan) == ["http://p:1 → martlet://chat.example:7227"])
        #expect(plan.route(0).reason == .configured)
    }

    // C-127
    @Test func `several addresses → the proxy gets one in each turn, and direct connections race`() throws {
        let addresses = ["martlets://a.example", "martlets://b.example", "martlets://a.example:7300"]
        for turn in 0..<3 {
            let plan = try Self.plan(
                addresses[0], addresses[1], addresses[2], variables: Self.http, turn: turn)
            #expect(plan.candidates[0].endpoints == [try Endpoint(parsing: addresses[turn])])
            #expect(
                Self.routes(plan).suffix(2) == [
                    "martlets://a.example:7227 martlets://b.example:7227 martlets://a.example:7300",
                    "wss://a.example:443/martlet wss://b.example:443/martlet",
                ])
        }
    }

    // C-126, C-127
    @Test(arguments: ["socks5h://proxy.example", "http://proxy.example"], ["chat.example", "*"])
    func `a host that NO_PROXY exempts with one port → the route to the other port does not bypass the proxy`(
        proxy: String, host: String
    ) throws {
        let variables = ["ALL_PROXY": proxy, "NO_PROXY": "\(host):7227"]
        let direct = try Self.plan("martlets://chat.example", variables: variables)
        #expect(direct.candidates.map(\.key) == [RouteMemory.Key(usesProxy: false, isWebSocket: false)])
    }

    // C-126, C-127
    @Test func `a host that NO_PROXY exempts with the port of WebSockets → no WebSocket`() throws {
        let other = ["ALL_PROXY": "socks5h://proxy.example", "NO_PROXY": "chat.example:443"]
        let proxied = try Self.plan("martlets://chat.example", variables: other)
        #expect(proxied.candidates.map(\.key) == [RouteMemory.Key(usesProxy: true, isWebSocket: false)])
    }

    // C-127
    @Test func `suspect routes → they are last in their order, and the others have limited times`() throws {
        var plan = try Self.plan("martlets://chat.example", variables: Self.http)
        plan.prefer(RouteMemory.Key(usesProxy: false, isWebSocket: true))
        plan.postpone(
            [
                RouteMemory.Key(usesProxy: false, isWebSocket: false),
                RouteMemory.Key(usesProxy: true, isWebSocket: true),
            ], isTurnOfOthers: false)
        let keys = plan.candidates.indices.map { plan.route($0).key }
        #expect(keys == ["webSocket", "proxy", "direct", "webSocketThroughProxy"])
        let deadline = Instant.zero + .seconds(9)
        #expect(
            plan.race(deadline: deadline)
                == RouteRace(timeouts: [.seconds(5), .seconds(5), nil, nil], postponedCount: 2, deadline: deadline))
        plan.postpone([RouteMemory.Key(usesProxy: true, isWebSocket: true)], isTurnOfOthers: true)
        #expect(
            plan.race(deadline: deadline)
                == RouteRace(timeouts: [nil, nil, nil, nil], postponedCount: 1, deadline: deadline))
        plan.remove(0)
        #expect(plan.candidates.count == 3)
    }

    // C-127
    @Test func `no route but suspect ones → none waits for another`() throws {
        var plan = try Self.plan("martlets://chat.example")
        plan.postpone(plan.candidates.map(\.key).reversed(), isTurnOfOthers: false)
        #expect(plan.candidates.map(\.isWebSocket) == [true, false])
        let deadline = Instant.zero + .seconds(9)
        #expect(plan.race(deadline: deadline) == RouteRace(timeouts: [.seconds(5), nil], deadline: deadline))
    }

    // C-127
    @Test func `the last route but one is removed → the other was not the only one`() throws {
        var plan = try Self.plan("martlets://chat.example")
        plan.remove(1)
        #expect(plan.route(0).description == "direct (first to answer)")
    }

    // C-126
    @Test func `an invalid variable that NO_PROXY overrules for one port → no WebSocket on the other port`() throws {
        let variables = ["HTTPS_PROXY": "x:y:z", "NO_PROXY": "chat.example:7227"]
        #expect(try Self.plan("martlets://chat.example", variables: variables).candidates.count == 1)
        // It counts as unset.
        #expect(try Self.plan("martlets://chat.example", variables: ["HTTPS_PROXY": "x:y:z"]).candidates.count == 2)
    }

    // C-94, C-127
    @Test func `a refusal on a remembered direct route → the end of the race; others continue`() throws {
        let direct = RouteMemory.Key(usesProxy: false, isWebSocket: false)
        var plan = try Self.plan("martlets://chat.example")
        #expect(!plan.endsRace(.refused, on: 0))
        plan.prefer(direct, believesRefusals: true)
        #expect(plan.endsRace(.refused, on: 0) && !plan.endsRace(.timedOut, on: 0) && !plan.endsRace(.refused, on: 1))
        plan.prefer(direct)
        #expect(!plan.endsRace(.refused, on: 0))
        plan.prefer(RouteMemory.Key(usesProxy: false, isWebSocket: true), believesRefusals: true)
        #expect(plan.candidates[0].isWebSocket && !plan.endsRace(.refused, on: 0))
        let deadline = Instant.zero + .seconds(9)
        let fresh = try Self.plan("martlets://chat.example", variables: Self.http)
        #expect(
            fresh.race(deadline: deadline)
                == RouteRace(timeouts: [nil, .seconds(5), nil, .seconds(5)], deadline: deadline))
    }

    // C-127
    @Test func `a remembered route → it is first, without a limit of its own, and the reason`() throws {
        var plan = try Self.plan("martlets://chat.example", variables: Self.http)
        #expect(plan.route(0).description == "proxy proxy.example:3128 (HTTPS_PROXY names the proxy)")
        #expect(
            plan.route(1).description
                == "WebSocket on port 443 through proxy proxy.example:3128 (HTTPS_PROXY names the proxy)")
        #expect(plan.route(2).description == "direct (first to answer)")
        #expect(
            plan.candidates.indices.map { plan.route($0).key } == [
                "proxy", "webSocketThroughProxy", "direct", "webSocket",
            ])
        plan.prefer(RouteMemory.Key(usesProxy: false, isWebSocket: true))
        #expect(plan.route(0).description == "WebSocket on port 443 (remembered on this network)")
        #expect(plan.candidates.count == 4)
        let deadline = Instant.zero + .seconds(9)
        #expect(
            plan.race(deadline: deadline)
                == RouteRace(timeouts: [nil, .seconds(5), .seconds(5), .seconds(5)], deadline: deadline))
        plan.prefer(nil)
        plan.keep(RouteMemory.Key(usesProxy: false, isWebSocket: false))
        #expect(Self.routes(plan) == ["martlets://chat.example:7227"])
        #expect(plan.race(deadline: deadline) == RouteRace(timeouts: [nil], deadline: nil))
        #expect(try Self.plan("martlet://chat.example").route(0).description == "direct (the only route)")
    }
}
