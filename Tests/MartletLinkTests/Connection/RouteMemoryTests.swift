import Testing

@testable import MartletLink

@Suite("The memory of routes")
struct RouteMemoryTests {
    private static let proxy = RouteMemory.Key(usesProxy: true, isWebSocket: false)
    private static let webSocket = RouteMemory.Key(usesProxy: false, isWebSocket: true)

    private static func network(_ number: Int) -> NetworkID { NetworkID(rawValue: UInt64(number)) }

    // C-127
    @Test func `the latest route of a network → it is remembered there`() {
        var memory = RouteMemory()
        memory.remember(Self.proxy, on: Self.network(1))
        memory.remember(Self.webSocket, on: Self.network(1))
        #expect(memory.route(on: Self.network(1)) == Self.webSocket)
        #expect(memory.route(on: Self.network(2)) == nil)
    }

    // C-127, C-94
    @Test func `refusals after a route has worked → they are believed up to the bound, and again after a success`() {
        var memory = RouteMemory()
        memory.noteRefusal(on: Self.network(1))
        #expect(!memory.believesRefusals(on: Self.network(1)))
        memory.remember(Self.webSocket, on: Self.network(1))
        for _ in 0..<RouteMemory.maxRefusalCount {
            #expect(memory.believesRefusals(on: Self.network(1)))
            memory.noteRefusal(on: Self.network(1))
        }
        #expect(!memory.believesRefusals(on: Self.network(1)))
        #expect(memory.route(on: Self.network(1)) == Self.webSocket)
        memory.remember(Self.webSocket, on: Self.network(1))
        #expect(memory.believesRefusals(on: Self.network(1)))
    }

    // C-127
    @Test func `more networks than the bound → the one used least recently is forgotten`() {
        var memory = RouteMemory()
        for number in 1...RouteMemory.maxNetworkCount { memory.remember(Self.proxy, on: Self.network(number)) }
        memory.remember(Self.webSocket, on: Self.network(1))
        memory.remember(Self.proxy, on: Self.network(100))
        #expect(memory.route(on: Self.network(1)) == Self.webSocket)
        #expect(memory.route(on: Self.network(2)) == nil)
        #expect(memory.route(on: Self.network(3)) == Self.proxy)
    }
}
