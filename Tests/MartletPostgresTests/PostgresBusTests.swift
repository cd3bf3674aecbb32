import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import Testing

@testable import MartletPostgres

@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct PostgresBusTests {
    /// Waits until the sessions of stores listen to the bus.
    private func listening(_ count: Int, _ server: PostgresServer, _ uri: String) async throws {
        let statement = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'idle'
            AND (query = 'SET synchronous_commit = off' OR query LIKE 'SELECT pg_notify%')
            """
        while !Task.isCancelled, try await server.sql(statement, in: uri) != "\(count)" { await Task.yield() }
    }

    private func received(_ bus: PostgresBus) -> AsyncStream<[UInt8]>.AsyncIterator {
        let (datagrams, continuation) = AsyncStream<[UInt8]>.makeStream()
        bus.start { continuation.yield($0) }
        return datagrams.makeAsyncIterator()
    }

    //
    @Test func `datagrams of a store -> at the others in their order, and not at the store itself`() async throws {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let stores = [try await PostgresStore.patient(uri), try await .patient(uri), try await .patient(uri)]
        try await listening(3, server, uri)
        var iterators = stores.map { received($0.bus) }
        let maximum = stores[0].bus.maxDatagramByteCount
        #expect(maximum >= RelayBusBounds.minDatagramByteCount)
        let sent = [[0], [UInt8](repeating: 255, count: maximum)] + (0..<600).map { [1, UInt8($0 % 256)] }
        stores[0].bus.send(sent + [[UInt8](repeating: 1, count: maximum + 1)])
        // A transaction does not notify twice with the same text.
        let expected = [[0], [UInt8](repeating: 255, count: maximum)]
        for index in 1...2 {
            for datagram in expected { #expect(await iterators[index].next() == datagram) }
            #expect(await iterators[index].next() == [1, 0])
        }
        stores[1].bus.send([[7]])
        #expect(await iterators[0].next() == [7])
        for store in stores { await store.close() }
    }

    //
    @Test func `datagrams before a stop and the end of the store -> at the others`() async throws {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let (first, second) = (try await PostgresStore.patient(uri), try await PostgresStore.patient(uri))
        try await listening(2, server, uri)
        var iterator = received(second.bus)
        first.bus.send([[1], [2]])
        await first.bus.stop()
        await first.close()
        #expect(await iterator.next() == [1])
        #expect(await iterator.next() == [2])
        await second.close()
    }

    @Test func `a bus that was stopped -> no datagram is received`() async throws {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let (first, second) = (try await PostgresStore.patient(uri), try await PostgresStore.patient(uri))
        try await listening(2, server, uri)
        let count = Guarded(0)
        second.bus.start { _ in count.withLock { $0 += 1 } }
        await second.bus.stop()
        var answers = received(first.bus)
        first.bus.send([[1]])
        // The report of a room follows the datagram on the same connection.
        second.bus.send([[2]])
        #expect(await answers.next() == [2])
        #expect(count.withLock { $0 } == 0)
        for store in [first, second] { await store.close() }
    }

    @Test func `a restart of the database -> datagrams may be lost, and later ones arrive`() async throws {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let uri = try await server.database()
        let (first, second) = (try await PostgresStore.patient(uri), try await PostgresStore.patient(uri))
        try await listening(2, server, uri)
        var iterator = received(second.bus)
        first.bus.send([[1]])
        #expect(await iterator.next() == [1])
        try await server.stop()
        first.bus.send([[2]])
        try await server.start()
        try await listening(2, server, uri)
        first.bus.send([[3]])
        while await iterator.next() != [3] {}
        for store in [first, second] { await store.close() }
    }

    // Specs/hostile.md
    @Test func `texts of other programs on the channel -> ignored, and datagrams arrive`() async throws {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let (first, second) = (try await PostgresStore.patient(uri), try await PostgresStore.patient(uri))
        try await listening(2, server, uri)
        var iterator = received(second.bus)
        for text in ["''", "'='", "'A'", "'no base64'", "'AA=A'", "repeat('B', 7999)", "E'\\n'", "'é'", "NULL"] {
            try await server.sql("SELECT pg_notify('martlet_bus', \(text))", in: uri)
        }
        await #expect(throws: (any Error).self) {
            try await server.sql("SELECT pg_notify('martlet_bus', repeat('B', 8000))", in: uri)
        }
        first.bus.send([[9]])
        #expect(await iterator.next() == [9])
        for store in [first, second] { await store.close() }
    }

    @Test func `schemas with long names that begin alike -> a channel for each, as long as the server permits`()
        async throws
    {
        let server = try await PostgresServer.common()
        let name = try await server.database()
        let uri = name + "&options=-csearch_path%3D" + String(repeating: "s", count: 63)
        let (first, second) = (try await PostgresStore.patient(uri), try await PostgresStore.patient(uri))
        try await listening(2, server, uri)
        var iterator = received(second.bus)
        first.bus.send([[5]])
        #expect(await iterator.next() == [5])
        for store in [first, second] { await store.close() }
    }
}
