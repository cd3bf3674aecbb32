import Testing

@testable import MartletLink

@Suite("The memory of routes")
struct RouteMemoryTests {
    private static let proxy = RouteMemory.Key(usesProxy: true, isWebSocket: false)
    private static let webSocket = RouteMemory.Key(usesProxy: false, isWebSocket: true)

    private static func network(_ number: Int) -> NetworkID { NetworkID(rawValue: UInt64(number)) }

    // C-127
    @Test func `the latest route of a network → it is remembered there until it is forgotten`() {
        var memory = RouteMemory()
        memory.remember(Self.proxy, on: Self.network(1))
        memory.remember(Self.webSocket, on: Self.network(1))
        #expect(memory.route(on: Self.network(1)) == Self.webSocket)
        #expect(memory.route(on: Self.network(2)) == nil)
        memory.forget(Self.network(1))
        #expect(memory.route(on: Self.network(1)) == nil)
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
