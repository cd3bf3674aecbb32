import MartletTransport
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletWire

/// Two relays on one bus, over sockets.
@Suite(.timeLimit(.minutes(10))) struct RelayBusPortTests {
    private struct Pair: Sendable {
        let hub = MemoryBus.Hub()
        let log = EventLog()
        let relays: [Relay]
        let ports: [UInt16]

        init(loopCount: Int, names: [String] = ["one", "two"]) throws {
            var relays: [Relay] = []
            for name in names {
                var configuration = try Relay.Configuration(port: 0)
                configuration.engine = .withoutTimeouts
                configuration.name = name
                configuration.loopCount = loopCount
                relays.append(
                    Relay(
                        configuration: configuration, store: InMemoryStore(), authenticator: .allowAll,
                        policy: .allowAll, bus: MemoryBus(hub), onEvent: log.note))
            }
            self.relays = relays
            ports = try relays.map { try $0.start()[0].port }
        }

        /// Waits until each relay has heard the other one.
        func meet() async {
            for relay in relays { while !Task.isCancelled, await relay.relays().count < 2 { await Task.yield() } }
        }

        func member(_ account: String, _ relay: Int) async throws -> WirePeer {
            let peer = try await WirePeer.connect(to: ports[relay])
            try await peer.hello(FrameWriter.hello(account))
            try await peer.open("lobby")
            return peer
        }

        func shutDown() async { for relay in relays { await relay.shutdown() } }
    }

    //
    @Test(arguments: [1, 2]) func `two relays on a bus → each lists itself and the other one`(
        _ loopCount: Int
    ) async throws {
        let pair = try Pair(loopCount: loopCount)
        await pair.meet()
        #expect(await pair.relays[0].relays().map(\.name) == ["one", "two"])
        let second = await pair.relays[1].relays()
        #expect(second.map(\.name) == ["two", "one"] && second[0].lastHeardAt == nil && second[1].lastHeardAt != nil)
        #expect(await pair.relays[0].drain(relay: "three") == false)
        await pair.shutDown()
        #expect(await pair.relays[0].relays() == [])
    }

    //
    @Test(arguments: [1, 2]) func `members at two relays → each learns that the other is online`(
        _ loopCount: Int
    ) async throws {
        let pair = try Pair(loopCount: loopCount)
        await pair.meet()
        let alice = try await pair.member("alice", 0)
        let bob = try await pair.member("bob", 1)
        #expect(try await alice.next(Transient.self) == Transient(.presence(.online), sender: "bob"))
        withExtendedLifetime(bob) {}
        await pair.shutDown()
    }

    //
    @Test func `a relay shuts down → its last datagram ends with a last beat`() async throws {
        let pair = try Pair(loopCount: 1)
        await pair.meet()
        let (datagrams, continuation) = AsyncStream<[UInt8]>.makeStream()
        let bus = MemoryBus(pair.hub)
        bus.start { continuation.yield($0) }
        let id = await pair.relays[0].relays()[0].relay
        await pair.relays[0].shutdown()
        var isLast = false
        var iterator = datagrams.makeAsyncIterator()
        while !isLast, let datagram = await iterator.next() {
            guard try BusHead(parsing: datagram.rawBytes).relay == id else { continue }
            if case .beat(_, true)? = try BusHead.messages(in: datagram.rawBytes).last?.item { isLast = true }
        }
        #expect(isLast)
        await pair.shutDown()
    }

    //
    @Test func `two relays with one name → each reports it, and neither is drained by it`() async throws {
        let pair = try Pair(loopCount: 1, names: ["one", "one"])
        await pair.meet()
        while !Task.isCancelled, pair.log.all.count(where: { if case .busNameShared = $0 { true } else { false } }) < 2
        {
            await Task.yield()
        }
        #expect(await pair.relays[0].drain(relay: "one") == false)
        await pair.shutDown()
    }

    //
    @Test func `kick at one relay → the link at the other one ends, and an audit record there`() async throws {
        let pair = try Pair(loopCount: 1)
        await pair.meet()
        let bob = try await pair.member("bob", 1)
        await pair.relays[0].kick("bob")
        #expect(try await bob.finalNotice()?.code == .serverBusy)
        let isNoted = { pair.log.all.contains { if case .kicked("bob", by: "one") = $0 { true } else { false } } }
        while !Task.isCancelled, !isNoted() { await Task.yield() }
        #expect(pair.log.all.compactMap { AuditRecord($0) }.contains { $0.event == .kicked && $0.account == "bob" })
        await pair.shutDown()
    }
}
