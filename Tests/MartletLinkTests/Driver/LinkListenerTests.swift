import MartletTransport
import MartletWire
import Testing

@testable import MartletLink

@Suite("Listeners on sockets", .timeLimit(.minutes(10)))
struct LinkListenerTests {
    private let exposed = SocketAddress(.anyV4, port: 0)

    @Test func `a message to a listener on this machine is answered`() async throws {
        #if os(Linux)
            // No other test and no connection takes a port of this address.
            let host = "127.78.0.3"
        #else
            let host = "127.0.0.1"
        #endif
        let listener = LinkListener(.init(addresses: [try #require(SocketAddress("\(host):0"))])) {
            Identity($0.account)
        }
        try listener.start()
        let port = try #require(listener.port)
        let serving = Task {
            for await link in listener.links {
                for try await session in link.sessions {
                    for try await message in session.messages { try await session.send(message.reversed()) }
                }
            }
        }
        let client = try LinkClient(to: "martlet://\(host):\(port)", as: "alice")
        let session = try await client.open("a")
        try await session.send([1, 2, 3])
        var messages = session.messages.makeAsyncIterator()
        #expect(try await messages.next() == [3, 2, 1])
        #expect(await client.route == ConnectionRoute(proxy: nil, isWebSocket: false, reason: .only))
        await client.close()
        await #expect(throws: LinkFailure.stopped) { _ = try await client.open("b") }
        await listener.close()
        try await serving.value
        // The port is free.
        let again = LinkListener(.init(addresses: [try #require(SocketAddress("\(host):\(port)"))])) {
            Identity($0.account)
        }
        try again.start()
        await again.close()
    }

    // W-1
    @Test func `a listener without TLS on another address is not started`() throws {
        let listener = LinkListener(LinkListener.Configuration(addresses: [exposed])) { Identity($0.account) }
        #expect(throws: LinkSetupError.plaintextNotAllowed("\(exposed)")) { try listener.start() }
    }

    @Test func `a listener without authentication on another address is not started`() throws {
        var configuration = LinkListener.Configuration(addresses: [exposed])
        configuration.allowsPlaintext = true
        let listener = LinkListener(configuration)
        #expect(throws: LinkSetupError.authenticationRequired(exposed)) { try listener.start() }
    }

    @Test func `a listener without addresses, or on one in use, is not started`() async throws {
        #expect(throws: LinkSetupError.noAddresses) {
            try LinkListener(LinkListener.Configuration(addresses: [])).start()
        }
        let listener = LinkListener(port: 0)
        let address = try #require(try listener.start().first)
        #expect(throws: LinkSetupError.cannotListen(address, .addressInUse)) {
            try LinkListener(LinkListener.Configuration(addresses: [address])).start()
        }
        #expect(throws: LinkSetupError.alreadyStarted) { try listener.start() }
        await listener.close()
    }

    @Test func `a listener or client on a loop that was shut down -> sequences end, calls fail`() async throws {
        let loop = try EventLoop(name: "stopped")
        await loop.shutdown()
        let listener = LinkListener(port: 0, on: loop)
        try listener.start()
        #expect(await listener.links.first { _ in true } == nil)
        await listener.close()
        let client = try LinkClient(to: "martlet://127.0.0.1:1", as: "alice", on: loop)
        await #expect(throws: LinkFailure.stopped) { _ = try await client.open("a") }
        await client.close()
    }

    @Test func `a listener that was not started is closed -> its links end`() async throws {
        let listener = LinkListener(port: 0)
        let first = Task { await listener.links.first { _ in true } }
        await listener.close()
        #expect(await first.value == nil)
        #expect(throws: LinkSetupError.alreadyStarted) { try listener.start() }
    }

    @Test func `a client of an invalid address or account, or of another machine without TLS, is not created`() {
        #expect(throws: LinkSetupError.invalidEndpoint("a b")) { _ = try LinkClient(to: "a b", as: "alice") }
        #expect(throws: LinkSetupError.invalidAccount("")) { _ = try LinkClient(to: "localhost", as: "") }
        let plain = "martlet://192.0.2.1:7300"
        #expect(throws: LinkSetupError.plaintextNotAllowed(plain)) { _ = try LinkClient(to: plain, as: "alice") }
    }
}
