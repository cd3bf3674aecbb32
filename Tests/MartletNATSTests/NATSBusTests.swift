import Foundation
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import Testing

@testable import MartletNATS

@Suite(.enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(10)), .serialized)
struct NATSBusTests {
    private func received(_ bus: NATSBus) -> AsyncStream<[UInt8]>.AsyncIterator {
        let (datagrams, continuation) = AsyncStream<[UInt8]>.makeStream()
        bus.start { continuation.yield($0) }
        return datagrams.makeAsyncIterator()
    }

    /// Sends until a datagram arrives: a subscription may begin after the first ones.
    private func meet(_ first: NATSBus, _ second: NATSBus) async throws {
        let isMet = Guarded(false)
        second.start { _ in isMet.withLock { $0 = true } }
        while !Task.isCancelled, !isMet.withLock({ $0 }) {
            first.send([[0]])
            await Task.yield()
        }
    }

    // R-212
    @Test func `datagrams of a bus -> at the others in their order, up to 64 KiB, and not at the bus itself`()
        async throws
    {
        let server = try await NATSServer()
        let buses = [try await NATSBus(server.url), try await NATSBus(server.url), try await NATSBus(server.url)]
        for bus in buses[1...] { try await meet(buses[0], bus) }
        try await meet(buses[1], buses[0])
        var iterators = buses.map { received($0) }
        #expect(buses[0].maxDatagramByteCount == 65_536)
        let sent = [[1], [UInt8](repeating: 255, count: 65_536)] + (0..<600).map { [2, UInt8($0 % 256)] } + [[3]]
        buses[0].send(sent + [[UInt8](repeating: 1, count: 65_537), []])
        for index in 1...2 {
            var found: [[UInt8]] = []
            while found.last != [3], let next = await iterators[index].next() { if next != [0] { found.append(next) } }
            #expect(found == sent)
        }
        buses[1].send([[7]])
        while let next = await iterators[0].next(), next != [7] { #expect(next == [0]) }
        for bus in buses { await bus.stop() }
    }

    // R-220
    @Test func `datagrams before a stop -> at the others`() async throws {
        let server = try await NATSServer()
        let (first, second) = (try await NATSBus(server.url), try await NATSBus(server.url))
        try await meet(first, second)
        var iterator = received(second)
        first.send((0..<600).map { [1, UInt8($0 % 256)] } + [[3]])
        await first.stop()
        var count = 0
        while let next = await iterator.next(), next != [3] { if next != [0] { count += 1 } }
        #expect(count == 600)
        await second.stop()
    }

    @Test func `buses of different subjects -> nothing crosses`() async throws {
        let server = try await NATSServer()
        var configuration = NATSBus.Configuration()
        configuration.subject = "other.bus"
        let (first, second) = (try await NATSBus(server.url), try await NATSBus(server.url))
        let other = try await NATSBus(server.url, configuration: configuration)
        let count = Guarded(0)
        other.start { _ in count.withLock { $0 += 1 } }
        try await meet(first, second)
        #expect(count.withLock { $0 } == 0)
        for bus in [first, second, other] { await bus.stop() }
    }

    @Test func `a server that restarts, and one that is away at the start -> datagrams arrive afterwards`()
        async throws
    {
        let server = try await NATSServer()
        let events = Guarded<[NATSEvent]>([])
        let first = try await NATSBus(server.url) { event in events.withLock { $0.append(event) } }
        server.stop()
        while !Task.isCancelled, events.withLock({ $0.isEmpty }) { await Task.yield() }
        let second = try await NATSBus(server.url)
        #expect(second.maxDatagramByteCount == RelayBusBounds.minDatagramByteCount)
        // What cannot be kept is lost, and nobody waits.
        for _ in 0..<100 { first.send([[UInt8](repeating: 1, count: 65_536)]) }
        try await server.start()
        try await meet(first, second)
        try await meet(second, first)
        let found = events.withLock { $0 }
        guard case .lost(let reason)? = found.first else {
            Issue.record("the loss is not reported")
            return
        }
        #expect(!reason.isEmpty && found.dropFirst() == [.recovered])
        for bus in [first, second] { await bus.stop() }
    }

    @Test func `credentials that the server refuses after a restart -> reported once, and used when it accepts them`()
        async throws
    {
        let server = try await NATSServer("authorization { user: relay, password: secret }")
        let url = "nats://relay:secret@\(server.address)"
        let events = Guarded<[NATSEvent]>([])
        let first = try await NATSBus(url) { event in events.withLock { $0.append(event) } }
        server.stop()
        try await server.start("authorization { user: relay, password: different }")
        // The library gives the server up by the second refusal, and the bus begins again.
        while !Task.isCancelled,
            try server.log().split(separator: "\n").count(where: { $0.contains("authentication error") }) < 5
        {
            await Task.yield()
        }
        let second = try await NATSBus(url)
        server.stop()
        try await server.start("authorization { user: relay, password: secret }")
        try await meet(first, second)
        try await meet(second, first)
        let found = events.withLock { $0 }
        let reasons = found.compactMap { event in if case .lost(let reason) = event { reason } else { nil } }
        #expect(Set(reasons).count == reasons.count && found.count { $0 == .recovered } == 1)
        #expect(reasons.contains { $0.lowercased().contains("authorization") } && !reasons.contains(""))
        // No datagram arrives twice, nor at its sender.
        let counts = Guarded((first: 0, second: 0))
        first.start { datagram in counts.withLock { $0.first += datagram == [1] ? 1 : 0 } }
        var iterator = received(second)
        first.send([[1], [2]])
        while let next = await iterator.next(), next != [2] { counts.withLock { $0.second += next == [1] ? 1 : 0 } }
        second.send([[3]])
        try await meet(second, first)
        #expect(counts.withLock { $0.first == 0 && $0.second == 1 })
        for bus in [first, second] { await bus.stop() }
    }

    @Test func `users, tokens, and wrong ones -> accepted, or a typed error`() async throws {
        let server = try await NATSServer("authorization { user: relay, password: secret }")
        let address = server.address
        try await NATSBus.check("nats://relay:secret@\(address)")
        for url in ["nats://\(address)", "nats://relay:wrong@\(address)"] {
            await #expect { try await NATSBus.check(url) } throws: {
                if case NATSError.unavailable = $0 { true } else { false }
            }
        }
        let tokens = try await NATSServer("authorization { token: abc123 }")
        try await NATSBus.check("nats://abc123@\(tokens.address)")
    }

    @Test func `a subject that is not permitted, and a short max_payload -> typed errors`() async throws {
        let server = try await NATSServer(
            """
            authorization { users = [ { user: a, password: b, permissions: {
                publish: "martlet.other", subscribe: ">" } } ] }
            """)
        await #expect { try await NATSBus.check("nats://a:b@\(server.address)") } throws: {
            if case NATSError.notPermitted = $0 { true } else { false }
        }
        let short = try await NATSServer("max_payload: 4095")
        let error = NATSError.payloadTooSmall(byteCount: 4095, needed: RelayBusBounds.minDatagramByteCount)
        await #expect(throws: error) { try await NATSBus.check(short.url) }
        await #expect(throws: error) { try await NATSBus(short.url) }
        let medium = try await NATSServer("max_payload: 5000")
        let bus = try await NATSBus(medium.url)
        #expect(bus.maxDatagramByteCount == 5000)
        await bus.stop()
    }

    @Test func `buses that start and stop -> no more threads and descriptors than before`() async throws {
        let server = try await NATSServer()
        func cycle() async throws {
            let (first, second) = (try await NATSBus(server.url), try await NATSBus(server.url))
            try await meet(first, second)
            for bus in [first, second] { await bus.stop() }
        }
        try await cycle()
        // Threads of the library and of the loops end after their calls return.
        func counts() throws -> (threads: Int, descriptors: Int) {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").filter { task in
                let name = (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) ?? ""
                return name.hasPrefix("martlet-nats") || name.hasPrefix("nats") || name.hasPrefix("readloop")
                    || name.hasPrefix("flusher") || name.hasPrefix("reconnect") || name.hasPrefix("sub_")
            }
            let sockets = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { number in
                let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
                return link?.hasPrefix("socket:") == true
            }
            return (names.count, sockets.count)
        }
        let before = try counts()
        for _ in 0..<10 { try await cycle() }
        while !Task.isCancelled {
            let after = try counts()
            if after.threads <= before.threads, after.descriptors <= before.descriptors { break }
            await Task.yield()
        }
    }

    @Test func `a bus without a reference, and a second stop -> its connection ends, and nothing happens`() async throws
    {
        let server = try await NATSServer()
        let bus = try await NATSBus(server.url)
        await bus.stop()
        await bus.stop()
        bus.send([[1]])
    }
}

@Suite struct NATSSettingsTests {
    @Test func `URLs and subjects -> valid, or a typed error`() throws {
        for url in ["nats://h", "tls://u:p@h:1", "nats://t@h", "nats://[::1]:4222", "nats://a:1,nats://b:2"] {
            try NATSBus.checkURL(url)
        }
        for url in [
            "", "h", "nats://", "http://h", "nats://a@", "nats://:1", "nats://a,", "nats://h/x", "nats://a b",
            "nats://h:x", "nats://h:0",
            "nats://h:65536", "nats://h:", "nats://u@h:1:2", "nats://[::1]4222", "nats://[::1", "nats://u@:4222",
            "nats://h:+4222",
        ] {
            #expect(throws: NATSError.invalidURL) { try NATSBus.checkURL(url) }
        }
        var configuration = NATSBus.Configuration()
        for subject in ["", "a b", "a.*", ">", "a..b", ".", "é", String(repeating: "a", count: 129)] {
            configuration.subject = subject
            #expect(throws: NATSError.invalidSubject) {
                try NATSBus.checkURL("nats://h", configuration: configuration)
            }
        }
        configuration.credentials = "/none"
    }
}
