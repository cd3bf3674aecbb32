import Testing

@testable import MartletLink

@Suite("The memory of routes")
struct RouteMemoryTests {
    private static let direct = RouteMemory.Key(usesProxy: false, isWebSocket: false)
    private static let proxy = RouteMemory.Key(usesProxy: true, isWebSocket: false)
    private static let webSocket = RouteMemory.Key(usesProxy: false, isWebSocket: true)
    private static let all = [proxy, direct, webSocket]

    private static func network(_ number: Int) -> NetworkID { NetworkID(rawValue: UInt64(number)) }

    /// A memory, and the events of connections.
    private struct Script {
        var memory = RouteMemory()
        private var latest = ConnectionID.none

        mutating func open(_ key: RouteMemory.Key, of routes: [RouteMemory.Key] = all, on number: Int = 1)
            -> ConnectionID
        {
            latest = latest.next
            memory.opened(latest, on: key, of: routes, network: network(number))
            return latest
        }

        mutating func answer(_ key: RouteMemory.Key, on number: Int = 1) {
            memory.answered(open(key, on: number))
        }

        mutating func fail(_ key: RouteMemory.Key, of routes: [RouteMemory.Key] = all, on number: Int = 1) {
            memory.failed(open(key, of: routes, on: number))
        }

        /// Begins attempts on a network. Returns whether each is that of the routes that are not suspect.
        mutating func turns(_ count: Int, on number: Int = 1) -> [Bool] {
            (0..<count).map { _ in memory.takeTurn(on: network(number)).isOfOthers }
        }

        /// The working route of the first network, and the suspect ones.
        var state: [RouteMemory.Key?] { [memory.route(on: network(1))] + memory.suspects(on: network(1)) }
    }

    // C-127
    @Test func `the latest route on which a relay has answered → it is remembered on its network`() {
        var script = Script()
        script.answer(Self.proxy)
        script.answer(Self.webSocket)
        #expect(script.state == [Self.webSocket])
        #expect(script.memory.route(on: Self.network(2)) == nil)
    }

    // C-127
    @Test func `a complete handshake of a route without the answer of a relay → nothing is remembered`() {
        var script = Script()
        let id = script.open(Self.proxy)
        #expect(script.state == [nil])
        script.memory.ended(id)
        script.memory.answered(id)
        script.memory.failed(id)
        #expect(script.state == [nil])
    }

    // C-127
    @Test func `a route without an answer → suspect, and no longer the one that works`() {
        var script = Script()
        script.answer(Self.proxy)
        script.fail(Self.proxy)
        #expect(script.state == [nil, Self.proxy])
        #expect(!script.memory.believesRefusals(on: Self.network(1)))
        script.fail(Self.direct)
        #expect(script.state == [nil, Self.proxy, Self.direct])
        script.fail(Self.proxy)
        #expect(script.state == [nil, Self.direct, Self.proxy])
    }

    // C-127
    @Test func `an answer on a suspect route → it works, and the others remain suspect`() {
        var script = Script()
        script.fail(Self.proxy)
        script.fail(Self.direct)
        script.answer(Self.direct)
        #expect(script.state == [Self.direct, Self.proxy])
    }

    // C-127
    @Test func `an answer, then the end of the connection → the route is not suspect`() {
        var script = Script()
        let id = script.open(Self.proxy)
        script.memory.answered(id)
        script.memory.failed(id)
        script.memory.ended(id)
        #expect(script.state == [Self.proxy])
    }

    // C-127
    @Test func `every route is suspect → only the latest one`() {
        var script = Script()
        for key in Self.all { script.fail(key) }
        #expect(script.state == [nil, Self.webSocket])
    }

    // C-127
    @Test func `a suspect route → every second attempt is that of the others, first after an answer`() {
        var script = Script()
        #expect(script.turns(1) == [false])
        script.fail(Self.proxy)
        #expect(script.turns(4) == [false, true, false, true])
        script.fail(Self.proxy)
        #expect(script.turns(1) == [false])
        script.fail(Self.direct)
        #expect(script.turns(1) == [false])
        script.answer(Self.webSocket)
        #expect(script.turns(1) == [true])
        #expect(script.turns(1, on: 2) == [false])
    }

    // C-127
    @Test func `no suspect route → every fourth attempt since an answer is that of all routes`() {
        var script = Script()
        #expect(script.turns(8) == [false, false, false, true, false, false, false, true])
        #expect(script.turns(3, on: 2) == [false, false, false])
        script.answer(Self.direct)
        #expect(script.turns(5) == [false, false, false, true, false])
        script.answer(Self.direct)
        #expect(script.turns(4) == [false, false, false, true])
        #expect(script.turns(4, on: 2) == [false, false, false, true])
    }

    // C-127
    @Test func `turns → an attempt of the others has the address of the one before it, and each other one the next`() {
        var script = Script()
        func address() -> Int { script.memory.takeTurn(on: Self.network(1)).address }
        #expect([address(), address()] == [1, 2])
        script.fail(Self.proxy)
        #expect((0..<4).map { _ in address() } == [3, 3, 4, 4])
        script.answer(Self.direct)
        #expect((0..<3).map { _ in address() } == [4, 5, 5])
    }

    // C-127
    @Test func `no handshake in an attempt of the others → no route is suspect`() {
        var script = Script()
        script.answer(Self.webSocket)
        script.fail(Self.proxy)
        script.memory.turnOfOthersFailed(on: Self.network(2))
        #expect(script.state == [Self.webSocket, Self.proxy])
        script.memory.turnOfOthersFailed(on: Self.network(1))
        #expect(script.state == [Self.webSocket])
        #expect(script.turns(2) == [false, false])
    }

    // C-127
    @Test
    func `eight answers on other routes → the oldest suspect one is not suspect; an end between them → no change`() {
        var script = Script()
        script.fail(Self.proxy)
        script.fail(Self.direct)
        for _ in 1..<RouteMemory.maxAnswerCount { script.answer(Self.webSocket) }
        script.fail(Self.direct)
        for _ in 1..<RouteMemory.maxAnswerCount { script.answer(Self.webSocket) }
        #expect(script.state == [Self.webSocket, Self.proxy, Self.direct])
        script.answer(Self.webSocket)
        #expect(script.state == [Self.webSocket, Self.direct])
        for _ in 0..<RouteMemory.maxAnswerCount { script.answer(Self.webSocket) }
        #expect(script.state == [Self.webSocket])
    }

    // C-127
    @Test func `an attempt with one route → nothing is known`() {
        var script = Script()
        script.fail(Self.direct, of: [Self.direct])
        #expect(script.state == [nil])
    }

    // C-127
    @Test func `a path to a different network before the answer → the network of the connection learns it`() {
        var script = Script()
        let (first, second) = (script.open(Self.proxy, on: 1), script.open(Self.direct, on: 2))
        script.memory.failed(second)
        script.memory.answered(first)
        #expect(script.state == [Self.proxy])
        #expect(script.memory.suspects(on: Self.network(2)) == [Self.direct])
    }

    // C-127, C-94
    @Test func `refusals after a route has worked → they are believed up to the bound, and again after a success`() {
        var script = Script()
        script.memory.noteRefusal(on: Self.network(1))
        #expect(!script.memory.believesRefusals(on: Self.network(1)))
        script.answer(Self.webSocket)
        for _ in 0..<RouteMemory.maxRefusalCount {
            #expect(script.memory.believesRefusals(on: Self.network(1)))
            script.memory.noteRefusal(on: Self.network(1))
        }
        #expect(!script.memory.believesRefusals(on: Self.network(1)))
        #expect(script.state == [Self.webSocket])
        script.answer(Self.webSocket)
        #expect(script.memory.believesRefusals(on: Self.network(1)))
    }

    // C-127
    @Test func `more networks than the bound → the one used least recently is forgotten`() {
        var script = Script()
        for number in 1...RouteMemory.maxNetworkCount { script.fail(Self.proxy, on: number) }
        script.answer(Self.webSocket, on: 1)
        script.answer(Self.proxy, on: 100)
        #expect(script.state == [Self.webSocket, Self.proxy])
        #expect(script.memory.suspects(on: Self.network(2)) == [])
        #expect(script.memory.suspects(on: Self.network(3)) == [Self.proxy])
    }
}
