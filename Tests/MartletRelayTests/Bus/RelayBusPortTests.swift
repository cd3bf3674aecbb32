import MartletTransport
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletWire

/// A store with a key of the bus.
private struct KeyedStore: RoomStore {
    let inner = InMemoryStore()
    let key: [UInt8]?
    var features: RoomStoreFeatures { inner.features }
    func perform(_ calls: [RoomStoreCall]) { inner.perform(calls) }
    func beginBus() -> [UInt8]? { key }
}

/// Two relays on one bus, over sockets.
@Suite(.timeLimit(.minutes(10))) struct RelayBusPortTests {
    private struct Pair: Sendable {
        let hub = MemoryBus.Hub()
        let log = EventLog()
        let relays: [Relay]
        let ports: [UInt16]

        init(loopCount: Int = 1, names: [String] = ["one", "two"], keys: [[UInt8]?] = [nil, nil]) throws {
            var relays: [Relay] = []
            for (name, key) in zip(names, keys) {
                var configuration = try Relay.Configuration(port: 0)
                configuration.engine = .withoutTimeouts
                configuration.name = name
                configuration.loopCount = loopCount
                relays.append(
                    Relay(
                        configuration: configuration, store: KeyedStore(key: key), authenticator: .allowAll,
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

        /// The datagrams of all relays from now on.
        func datagrams() -> (bus: MemoryBus, received: AsyncStream<[UInt8]>.AsyncIterator) {
            let (datagrams, continuation) = AsyncStream<[UInt8]>.makeStream()
            let bus = MemoryBus(hub)
            bus.start { continuation.yield($0) }
            return (bus, datagrams.makeAsyncIterator())
        }

        /// The faults of datagrams that the relays have reported.
        var faults: [BusFault] {
            log.all.compactMap { if case .busFaulted(nil, let fault) = $0 { fault } else { nil } }
        }

        /// The number of relays that have ended the links of an account because of a datagram.
        func kickCount(_ account: AccountName) -> Int {
            log.all.count { if case .kicked(account, by: _) = $0 { true } else { false } }
        }

        func shutDown() async { for relay in relays { await relay.shutdown() } }
    }

    // Specs/hostile.md row 135
    @Test func `forwarded messages at a relay with a key, and without one → taken with a key only`() async throws {
        for key in [nil, [UInt8](repeating: 1, count: 32)] {
            let pair = try Pair(keys: [key, key])
            let port = try #require(pair.relays[0].busPort)
            let entries = BusEntries(room: "lobby", log: LogID(rawValue: 1), offset: 1, batch: [])
            #expect(port.takes(.forwarded(entries, after: 0)) == (key != nil) && port.takes(.entries(entries)))
            await pair.shutDown()
        }
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
        var (bus, datagrams) = pair.datagrams()
        let id = await pair.relays[0].relays()[0].relay
        await pair.relays[0].shutdown()
        var isLast = false
        while !isLast, let datagram = await datagrams.next() {
            guard try BusHead(parsing: datagram.rawBytes).relay == id else { continue }
            if case .beat(_, true)? = try BusHead.messages(in: datagram.rawBytes).last?.item { isLast = true }
        }
        #expect(isLast)
        await bus.stop()
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

    // MARK: - Keys

    private static let key = [UInt8](repeating: 7, count: 32)

    /// The next datagram of a relay, which ends the links of an account at all others.
    private func kick(_ account: AccountName, from relay: inout BusPeers) -> [UInt8] {
        relay.perform(.kick(account), now: Instant(nanoseconds: 0))
        return relay.takeDatagrams()[0]
    }

    //
    @Test func `stores with one key → members are online at both relays, and each datagram has a code`() async throws {
        let pair = try Pair(keys: [Self.key, Self.key])
        await pair.meet()
        var (bus, datagrams) = pair.datagrams()
        let alice = try await pair.member("alice", 0)
        let bob = try await pair.member("bob", 1)
        #expect(try await alice.next(Transient.self) == Transient(.presence(.online), sender: "bob"))
        let datagram = await datagrams.next() ?? []
        let opened = try BusAuthenticator(key: Self.key).open(datagram)
        let head = try BusHead(parsing: opened.rawBytes)
        #expect(head.number > 0 && pair.faults.isEmpty)
        withExtendedLifetime(bob) {}
        await bus.stop()
        await pair.shutDown()
    }

    //
    @Test(
        arguments: [
            ([UInt8](repeating: 8, count: 32), [BusFault.notAuthenticated, .notAuthenticated]),
            (nil, [.invalid(.version(1)), .invalid(.version(2))]),
        ] as [([UInt8]?, [BusFault])])
    func `stores with different keys, or one without → each relay reports it once, and neither hears the other`(
        _ other: [UInt8]?, _ faults: [BusFault]
    ) async throws {
        let pair = try Pair(keys: [Self.key, other])
        var (bus, datagrams) = pair.datagrams()
        for relay in pair.relays { for _ in 0..<3 { await relay.kick("bob") } }
        // When this one arrives, the relays have received the others.
        bus.send([[9]])
        while !Task.isCancelled, await datagrams.next() != [9] {}
        #expect(pair.faults.map { "\($0)" }.sorted() == faults.map { "\($0)" }.sorted())
        for relay in pair.relays { #expect(await relay.relays().count == 1) }
        #expect(pair.kickCount("bob") == 0)
        await bus.stop()
        await pair.shutDown()
    }

    // R-212, Specs/hostile.md row 135
    @Test func `forged datagrams of a relay without the key → no link ends, and one report of each relay`() async throws
    {
        let pair = try Pair(keys: [Self.key, Self.key])
        await pair.meet()
        let bob = try await pair.member("bob", 1)
        let bus = MemoryBus(pair.hub)
        var relay = BusPeers(id: RelayID(rawValue: 99), maxDatagramByteCount: 4000)
        var changed = BusAuthenticator(key: Self.key).seal(kick("bob", from: &relay))
        changed[changed.count - 1] ^= 1
        let foreign = BusAuthenticator(key: [UInt8](repeating: 8, count: 32)).seal(kick("bob", from: &relay))
        bus.send([changed, foreign, kick("bob", from: &relay), [2], []])
        // The relays receive this one after the others.
        bus.send([BusAuthenticator(key: Self.key).seal(kick("carol", from: &relay))])
        while !Task.isCancelled, pair.kickCount("carol") < 2 { await Task.yield() }
        #expect(pair.kickCount("bob") == 0)
        #expect(pair.faults == [.notAuthenticated, .notAuthenticated])
        await pair.relays[1].kick("bob")
        #expect(try await bob.finalNotice()?.code == .serverBusy)
        await pair.shutDown()
    }

    //
    @Test func `more items than a datagram has, with a key → each datagram fits with its code`() async throws {
        let pair = try Pair(keys: [Self.key, Self.key])
        await pair.meet()
        var (bus, datagrams) = pair.datagrams()
        let items = (0..<2000).map { BusMessage(.changed(RoomName("room \($0)")!)) }
        pair.relays[0].busPort?.send(items, hasLost: false)
        bus.send([[9]])
        var (count, longest) = (0, 0)
        while let datagram = await datagrams.next() {
            if datagram == [9] { break }
            let opened = try BusAuthenticator(key: Self.key).open(datagram)
            let messages = try BusHead.messages(in: opened.rawBytes)
            count += messages.count { if case .changed = $0.item { true } else { false } }
            longest = max(longest, datagram.count)
        }
        #expect(count == items.count)
        #expect(longest <= bus.maxDatagramByteCount && longest > bus.maxDatagramByteCount - 32)
        await bus.stop()
        await pair.shutDown()
    }
}
