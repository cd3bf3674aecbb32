import Testing

@testable import MartletTransport

@Suite(.timeLimit(.minutes(10)))
struct ResolverTests {
    @Test func `a numeric host is answered at once, without a look-up`() async throws {
        let resolver = Resolver { _ in .failure(.noAddresses) }
        let addresses = try await resolver.resolve(host: "::1", port: 5)
        #expect(addresses == [SocketAddress(.loopbackV6, port: 5)])
    }

    @Test func `the system knows localhost`() async throws {
        let addresses = try await Resolver.shared.resolve(host: "localhost", port: 80)
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0.ip.isLoopback && $0.port == 80 })
    }

    @Test func `the system's failure comes with its code and text`() async {
        // An empty label is refused before any server is asked.
        let error = await #expect(throws: TransportError.self) {
            try await Resolver.shared.resolve(host: "a..invalid", port: 80)
        }
        guard case .resolutionFailed(let code, let text) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(code != 0 && !text.isEmpty)
    }

    @Test func `a name without addresses is an error`() async {
        await #expect(throws: TransportError.noAddresses) {
            try await Resolver { _ in .success([]) }.resolve(host: "empty", port: 1)
        }
    }

    @Test func `an answer is cut at its bound`() async throws {
        let resolver = Resolver { _ in .success((0..<1000).map { IPAddress(v4: $0) }) }
        #expect(try await resolver.resolve(host: "many", port: 1).count == Resolver.maxAddressCount)
    }

    @Test func `look-ups beyond threads and queue are refused, the others answered in order`() async {
        let gate = Gate()
        let isBusy = Events<Void>()
        let resolver = Resolver(threadCount: 1, maxQueuedCount: 2) { host in
            isBusy.send(())
            gate.wait()
            return .success([host == "a" ? .loopbackV4 : .loopbackV6])
        }
        let answers = Events<Bool?>()
        for host in ["a", "b", "c"] {
            resolver.resolve(host: host, port: 1) { result in
                answers.send(try? result.get().first?.ip.isIPv6)
            }
            if host == "a" { await isBusy.next() }
        }
        await #expect(throws: TransportError.resolverBusy) { try await resolver.resolve(host: "d", port: 1) }
        for _ in 0..<3 { gate.open() }
        #expect(await answers.next() == false)
        #expect(await answers.next() == true)
        #expect(await answers.next() == true)
    }
}
