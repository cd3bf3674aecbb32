import Foundation
import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite("Relay life cycle")
struct RelayTests {
    private func relay(port: UInt16 = 0, store: any RoomStore = InMemoryStore()) throws -> Relay {
        var configuration = try Relay.Configuration(port: port)
        configuration.engine = .withoutTimeouts
        configuration.drainTimeout = .seconds(600)
        return Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
    }

    /// A connected publisher whose message `store` has started to append. The append completes when the gate opens.
    private func publisherWithPendingAppend(to store: SlowStore, port: UInt16) async throws -> WirePeer {
        let peer = try await WirePeer.connect(to: port)
        try await peer.hello()
        try await peer.open()
        store.closeGate()
        await peer.write { $0.text("on its way to the disk", counter: 1, on: .first) }
        // The pong follows the effects of the message.
        await peer.send(Ping(nonce: 1))
        let _: Pong = try await peer.next()
        return peer
    }

    @Test("addresses are present while the relay runs")
    func addresses() async throws {
        let relay = try relay()
        #expect(relay.port == nil)
        let addresses = try relay.start()
        #expect(addresses.count == 1 && addresses == relay.addresses)
        #expect(relay.port == addresses[0].port && addresses[0].port != 0)
        await relay.shutdown()
        #expect(relay.port == nil)
        #expect(await relay.statistics == RelayStatistics())
    }

    @Test("relay listens on every configured address")
    func several() async throws {
        let loopback = SocketAddress(.loopbackV4, port: 0)
        var configuration = Relay.Configuration(addresses: [loopback, loopback])
        configuration.engine = .withoutTimeouts
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        let ports = try relay.start().map(\.port)
        #expect(Set(ports).count == 2)
        for port in ports { try await WirePeer.connect(to: port).hello(FrameWriter.hello(device: UInt64(port))) }
        #expect(await relay.statistics.links == 2)
        await relay.shutdown()
    }

    @Test("second start throws alreadyStarted")
    func once() async throws {
        let relay = try relay()
        try relay.start()
        #expect(throws: RelayError.alreadyStarted) { try relay.start() }
        await relay.shutdown()
        #expect(throws: RelayError.alreadyStarted) { try relay.start() }
    }

    @Test("start without addresses throws noAddresses")
    func noAddresses() {
        let relay = Relay(
            configuration: Relay.Configuration(addresses: []), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        #expect(throws: RelayError.noAddresses) { try relay.start() }
    }

    @Test("start with a bound out of its range throws invalidConfiguration, which names the bound")
    func invalidConfiguration() throws {
        func fault(_ change: (inout Relay.Configuration) -> Void) throws -> RelayError? {
            var configuration = try Relay.Configuration(port: 0)
            change(&configuration)
            let relay = Relay(
                configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
            do { try relay.start() } catch { return error as? RelayError }
            return nil
        }
        #expect(
            try fault { $0.maxAcceptsPerSecond = 1 }
                == .invalidConfiguration("maxAcceptsPerSecond is 1, not at least 2"))
        #expect(try fault { $0.loopCount = 65 } == .invalidConfiguration("loopCount is 65, not 1 to 64"))
        #expect(
            try fault { $0.engine.link.maxConnections = 0 }
                == .invalidConfiguration("engine.link.maxConnections is 0, not at least 1"))
        #expect(
            try fault { $0.engine.link.authTimeout = .zero }
                == .invalidConfiguration("engine.link.authTimeout is not positive"))
        #expect(
            try fault { $0.limits.maxHandshakes = -1 }
                == .invalidConfiguration("limits.maxHandshakes is -1, not at least 1"))
    }

    @Test("used port throws cannotListen, invalid text throws invalidAddress")
    func addressErrors() async throws {
        try await withRelay { _, port in
            let second = try relay(port: port)
            let address = SocketAddress(.loopbackV4, port: port)
            #expect(throws: RelayError.cannotListen(address, .addressInUse)) { try second.start() }
            #expect(second.addresses == [])
        }
        #expect(throws: RelayError.invalidAddress("localhost")) { try Relay.Configuration(address: "localhost") }
    }

    @Test("failed start leaves no listener and may be repeated")
    func failedStart() async throws {
        // Addresses whose ports no other test takes meanwhile.
        let other = SocketAddress(try #require(IPAddress("127.77.0.2")), port: 0)
        guard (try? TCPListener.Socket(listeningOn: other)) != nil else { try Test.cancel("one address here") }
        let taken = Relay(
            configuration: Relay.Configuration(addresses: [other]), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let last = try taken.start()[0]
        let first = SocketAddress(try #require(IPAddress("127.77.0.3")), port: last.port)
        var configuration = Relay.Configuration(addresses: [first, last])
        configuration.engine = .withoutTimeouts
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        #expect(throws: RelayError.cannotListen(last, .addressInUse)) { try relay.start() }
        #expect(relay.addresses == [])
        // The available address is free when the call has thrown.
        #expect(throws: Never.self) { _ = try TCPListener.Socket(listeningOn: first) }
        await taken.shutdown()
        #expect(try relay.start() == [first, last])
        await relay.shutdown()
    }

    @Test("every call of shutdown returns after its completion")
    func concurrentShutdown() async throws {
        let store = SlowStore()
        let relay = try relay(store: store)
        let peer = try await publisherWithPendingAppend(to: store, port: try relay.start()[0].port)
        let ends = EndCount()
        async let first: Void = ends.count { await relay.shutdown() }
        _ = try? await peer.finalNotice()
        // Listeners and connections are closed; the store has not answered.
        async let second: Void = ends.count { await relay.shutdown() }
        async let third: Void = ends.count { await relay.shutdown() }
        for _ in 0..<1000 { await Task.yield() }
        #expect(ends.value == 0)
        store.openGate()
        _ = await (first, second, third)
        #expect(ends.value == 3)
        await relay.shutdown()
    }

    @Test("started relay shuts down when its last reference is released")
    func dropped() async throws {
        var relay: Relay? = try relay()
        let address = try #require(try relay?.start().first)
        let peer = try await WirePeer.connect(to: address.port)
        try await peer.hello()
        relay = nil
        _ = try? await peer.finalNotice()
        // Listeners close before connections.
        await #expect(throws: (any Error).self) { try await WirePeer.connect(to: address.port) }
    }

    @Test(":: accepts both families, and IPv6 only beside 0.0.0.0")
    func bothFamilies() async throws {
        // The system assigns no port above 60999, so no connection takes it between the two relays.
        let any = SocketAddress(.anyV6, port: UInt16(61_000 + ProcessInfo.processInfo.processIdentifier % 4_000))
        guard (try? TCPListener.Socket(listeningOn: any)) != nil else { try Test.cancel("no IPv6 here") }
        let log = EventLog()
        var configuration = Relay.Configuration(addresses: [any])
        configuration.allowsPlaintext = true
        configuration.engine = .withoutTimeouts
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll,
            onEvent: log.note)
        let port = try relay.start()[0].port
        let peer = try await WirePeer.connect(to: port)
        try await peer.hello()
        // IPv4 peers have their IPv4 addresses.
        #expect(log.peers.first?.ip == .loopbackV4)
        await relay.shutdown()
        configuration.addresses = [SocketAddress(.anyV4, port: port), SocketAddress(.anyV6, port: port)]
        let both = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        #expect(try both.start().count == 2)
        await both.shutdown()
    }

    @Test("run returns after shutdown of a started relay")
    func run() async throws {
        let relay = try relay()
        let port = try relay.start()[0].port
        async let end: Void = relay.run()
        try await WirePeer.connect(to: port).hello()
        await relay.shutdown()
        try await end
    }

    @Test("cancelled run drains and returns")
    func cancelled() async throws {
        let relay = try relay()
        let port = try relay.start()[0].port
        let running = Task { try await relay.run() }
        let peer = try await WirePeer.connect(to: port)
        try await peer.hello()
        running.cancel()
        #expect(try await peer.finalNotice()?.code == .draining)
        try await running.value
        #expect(relay.port == nil)
    }

    //
    @Test("drain closes all connections with its notice and accepts no others")
    func drain() async throws {
        try await withRelay { relay, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            let silent = try await WirePeer.connect(to: port)
            async let isDrained = relay.drain(
                within: .seconds(600), retryAfter: .seconds(7), redirect: "martlet://other.example")
            let notice = try #require(try await peer.finalNotice())
            #expect(notice.code == .draining)
            #expect(notice.retryAfter == .seconds(7))
            #expect(notice.redirect == "martlet://other.example")
            _ = try await silent.finalNotice()
            #expect(await isDrained)
            await #expect(throws: (any Error).self) { try await WirePeer.connect(to: port) }
        }
    }

    //
    @Test("drain returns false while the store is blocked, and shutdown waits for it")
    func hangingStore() async throws {
        let store = SlowStore()
        let relay = try relay(store: store)
        _ = try await publisherWithPendingAppend(to: store, port: try relay.start()[0].port)
        #expect(await relay.drain(within: .milliseconds(10)) == false)
        async let end: Void = relay.shutdown()
        store.openGate()
        await end
        #expect(store.appends == [[1]])
        let name = RoomName("lobby")
        #expect(try await store.load(name).lastOffset == 1)
    }

    @Test("revoked account receives revoked, and its link does not resume")
    func revoke() async throws {
        try await withRelay { relay, port in
            let alice = try await WirePeer.connect(to: port)
            let point = try await alice.hello().resumePoint([:])
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            await relay.revoke(AccountName("alice"))
            #expect(try await alice.finalNotice()?.code == .revoked)
            #expect(await relay.statistics.links == 1)
            let again = try await WirePeer.connect(to: port)
            await again.send(FrameWriter.hello(resume: point))
            #expect(try await again.expect(Reject.self).notice.code == .resumeRejected)
            try await bob.open()
        }
    }

    // C-11
    @Test("connection beyond the maximum closes without a frame")
    func tooMany() async throws {
        var engine = RelayConfiguration.withoutTimeouts
        engine.link.maxConnections = 1
        try await withRelay(engine) { _, port in
            let first = try await WirePeer.connect(to: port)
            try await first.hello()
            let second = try await WirePeer.connect(to: port)
            #expect(try await second.finalNotice() == nil)
            try await first.open()
        }
    }

    //
    @Test func `a hello near the maximum of connections is rejected with retryAfter, and a link is served`()
        async throws
    {
        var engine = RelayConfiguration.withoutTimeouts
        engine.link.maxConnections = 16
        try await withRelay(engine) { relay, port in
            var peers: [WirePeer] = []
            for number in 1...15 as ClosedRange<UInt64> {
                let peer = try await WirePeer.connect(to: port)
                try await peer.hello(FrameWriter.hello(device: number))
                peers.append(peer)
            }
            let late = try await WirePeer.connect(to: port)
            await late.send(FrameWriter.hello(device: 16))
            let notice = try await late.finalNotice()
            #expect(notice?.code == .serverBusy && notice?.retryAfter == .seconds(5))
            #expect(await relay.statistics.linksRefused == 1)
            try await peers[0].open()
            #expect(try await peers[0].publish("hello", counter: 1) == 1)
        }
    }
}

/// Counts returned calls.
private final class EndCount: Sendable {
    private let ended = Guarded(0)

    var value: Int { ended.withLock { $0 } }

    func count(_ call: @Sendable () async -> Void) async {
        await call()
        ended.withLock { $0 += 1 }
    }
}
