import Testing

@testable import MartletTransport

@Suite(.timeLimit(.minutes(10)))
struct ResolverTests {
    @Test func `numeric host resolves at once without a lookup`() async throws {
        let resolver = Resolver { _ in .failure(.noAddresses) }
        let addresses = try await resolver.resolve(host: "::1", port: 5)
        #expect(addresses == [SocketAddress(.loopbackV6, port: 5)])
    }

    @Test func `localhost resolves to loopback addresses`() async throws {
        let addresses = try await Resolver.shared.resolve(host: "localhost", port: 80)
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0.ip.isLoopback && $0.port == 80 })
    }

    @Test(arguments: ["localhost", "LOCALHOST.", "relay.localhost"])
    func `names below localhost resolve at once without a lookup`(host: String) async throws {
        let resolver = Resolver { _ in .failure(.noAddresses) }
        let addresses = try await resolver.resolve(host: host, port: 5)
        #expect(addresses == [SocketAddress(.loopbackV6, port: 5), SocketAddress(.loopbackV4, port: 5)])
    }

    @Test func `blocked name occupies one thread for all its requests`() async throws {
        let gate = Gate()
        let isBusy = Events<String>()
        let resolver = Resolver(threadCount: 2) { host in
            isBusy.send(host)
            if host == "slow" { gate.wait() }
            return .success([.loopbackV4])
        }
        let answers = Events<Bool>()
        for port: UInt16 in 0..<8 {
            resolver.resolve(host: "slow", port: port) { result in
                answers.send((try? result.get()) == [SocketAddress(.loopbackV4, port: port)])
            }
        }
        #expect(await isBusy.next() == "slow")
        #expect(try await resolver.resolve(host: "fast", port: 1) == [SocketAddress(.loopbackV4, port: 1)])
        #expect(await isBusy.next() == "fast")
        gate.open()
        for _ in 0..<8 { #expect(await answers.next() == true) }
        #expect(isBusy.isEmpty)
    }

    @Test func `cancelled requests leave the queue and complete once`() async throws {
        let gate = Gate()
        let isBusy = Events<String>()
        let resolver = Resolver(threadCount: 1) { host in
            isBusy.send(host)
            gate.wait()
            return .success([.loopbackV4])
        }
        let answers = Events<TransportError?>()
        let requests = ["running", "queued"].map { host in
            resolver.resolve(host: host, port: 1) { result in
                if case .failure(let error) = result { answers.send(error) } else { answers.send(nil) }
            }
        }
        #expect(await isBusy.next() == "running")
        for request in requests + requests { request.cancel() }
        for _ in requests { #expect(await answers.next() == .cancelled) }
        for _ in 0..<3 { gate.open() }
        #expect(try await resolver.resolve(host: "next", port: 1) == [SocketAddress(.loopbackV4, port: 1)])
        #expect(await isBusy.next() == "next")
        #expect(answers.isEmpty && isBusy.isEmpty)
    }

    @Test func `cancelled task does not wait for its lookup`() async throws {
        let gate = Gate()
        let isBusy = Events<Void>()
        let resolver = Resolver { _ in
            isBusy.send(())
            gate.wait()
            return .success([.loopbackV4])
        }
        let task = Task { try await resolver.resolve(host: "slow", port: 1) }
        await isBusy.next()
        task.cancel()
        await #expect(throws: TransportError.cancelled) { try await task.value }
        gate.open()
    }

    @Test func `system failure throws its code and text`() async {
        // getaddrinfo rejects an empty label without a query.
        let error = await #expect(throws: TransportError.self) {
            try await Resolver.shared.resolve(host: "a..invalid", port: 80)
        }
        guard case .resolutionFailed(let code, let text) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(code != 0 && !text.isEmpty)
    }

    @Test func `name without addresses throws noAddresses`() async {
        await #expect(throws: TransportError.noAddresses) {
            try await Resolver { _ in .success([]) }.resolve(host: "empty", port: 1)
        }
    }

    @Test func `addresses beyond the bound are dropped`() async throws {
        let resolver = Resolver { _ in .success((0..<1000).map { IPAddress(v4: $0) }) }
        #expect(try await resolver.resolve(host: "many", port: 1).count == Resolver.maxAddressCount)
    }

    @Test func `lookups beyond threads and queue are refused, others complete in order`() async {
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
