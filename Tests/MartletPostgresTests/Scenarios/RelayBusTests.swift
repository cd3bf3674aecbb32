import Martlet
import MartletNATS
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletPostgres

/// Relays of one database, with each bus between them.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct RelayBusTests {
    enum Kind: CaseIterable {
        case postgres, nats

        /// The kinds that this system has.
        static var installed: [Kind] { allCases.filter { $0 != .nats || NATSServer.isInstalled } }
    }

    /// A relay, and what it uses.
    private struct Running {
        let relay: Relay
        let store: PostgresStore
        let address: SocketAddress

        init(_ uri: String, _ name: String, _ kind: Kind, _ server: NATSServer?) async throws {
            store = try await .patient(uri)
            var configuration = try Relay.Configuration(port: 0)
            configuration.limits = .unlimited
            configuration.name = name
            configuration.drainTimeout = .zero
            let bus: any RelayBus = if kind == .nats, let server { try await NATSBus(server.url) } else { store.bus }
            relay = Relay(
                configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll, bus: bus)
            address = try relay.start()[0]
        }

        func close() async {
            await relay.shutdown()
            await store.close()
        }

        func client(_ account: String) throws -> Client {
            try Client(to: "martlet://\(address)", as: .anonymous(account))
        }
    }

    private func relays(_ kind: Kind) async throws -> (first: Running, second: Running, server: NATSServer?) {
        let uri = try await PostgresServer.common().database()
        let server = kind == .nats ? try await NATSServer() : nil
        let (first, second) = (
            try await Running(uri, "one", kind, server), try await Running(uri, "two", kind, server)
        )
        // The relays have heard each other.
        for relay in [first.relay, second.relay] {
            while !Task.isCancelled, await relay.relays().count < 2 { await Task.yield() }
        }
        return (first, second, server)
    }

    /// Waits for an event. An iteration has the events from its start, so it starts before their cause.
    private func wait(
        for events: inout Martlet.Room.Events.AsyncIterator, _ isExpected: (Martlet.Room.Event) -> Bool
    ) async {
        while let event = await events.next() { if isExpected(event) { return } }
    }

    //
    @Test(arguments: Kind.installed)
    func `members at different relays → presence, typing, receipts and a request cross the bus`(kind: Kind) async throws
    {
        let (first, second, server) = try await relays(kind)
        try await withClient(first.client("alice")) { alice in
            let hers = try await alice.open(room: "lobby")
            try await withClient(second.client("bob")) { bob in
                let his = try await bob.open(room: "lobby")
                while !Task.isCancelled, !hers.members.contains("bob") || !his.members.contains("alice") {
                    await Task.yield()
                }
                var events = hers.events.makeAsyncIterator()
                his.setTyping(true)
                await wait(for: &events) { if case .typing("bob", true) = $0 { true } else { false } }
                _ = try await hers.send("hello").accepted()
                for try await message in his.messages {
                    his.markRead(upTo: message)
                    break
                }
                await wait(for: &events) { if case .read = $0 { true } else { false } }
                let answering = Task {
                    for await request in his.requests {
                        try request.respond(text: "pong")
                        break
                    }
                }
                #expect(try await hers.request("ping", to: "bob").text == "pong")
                try await answering.value
            }
            while !Task.isCancelled, hers.members.contains("bob") { await Task.yield() }
        }
        for relay in [first, second] { await relay.close() }
        withExtendedLifetime(server) {}
    }

    //
    @Test(arguments: Kind.installed)
    func `a kick and a drain at one relay → the links at the other one end, and the list states it`(kind: Kind)
        async throws
    {
        let (first, second, server) = try await relays(kind)
        #expect(await first.relay.relays().map(\.name) == ["one", "two"])
        try await withClient(second.client("bob")) { bob in
            _ = try await bob.open(room: "lobby")
            let count = await second.relay.statistics.connectionsAccepted
            await first.relay.kick("bob")
            while !Task.isCancelled, await second.relay.statistics.connectionsAccepted == count { await Task.yield() }
            #expect(await first.relay.drain(relay: "two"))
            #expect(await !first.relay.drain(relay: "three"))
            while !Task.isCancelled, await second.relay.statistics.connections > 0 { await Task.yield() }
        }
        while !Task.isCancelled, await first.relay.relays().last?.isDraining != true { await Task.yield() }
        for relay in [second, first] { await relay.close() }
        withExtendedLifetime(server) {}
    }
}
