import Glibc
import MartletTransport
import Synchronization
import Testing

@testable import MartletTransport

/// Each in a process of its own, since descriptors and signals are the process's.
@Suite(.timeLimit(.minutes(10)))
struct DescriptorTests {
    // Specs/hostile.md row 28
    @Test func `row 28 out of descriptors accepting pauses, tells once, and then goes on (epoll)`() async {
        await #expect(processExitsWith: .success) { try await surviveDescriptorExhaustion(.platformDefault) }
    }

    // Specs/hostile.md row 28
    @Test func `row 28 out of descriptors accepting pauses, tells once, and then goes on (Dispatch)`() async {
        await #expect(processExitsWith: .success) { try await surviveDescriptorExhaustion(.dispatch) }
    }

    @Test func `no descriptor is left open (epoll)`() async {
        await #expect(processExitsWith: .success) { try await leaveNoDescriptor(.platformDefault) }
    }

    @Test func `no descriptor is left open (Dispatch)`() async {
        await #expect(processExitsWith: .success) { try await leaveNoDescriptor(.dispatch) }
    }

    @Test func `no write raises SIGPIPE`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE) { _ in signalCount.add(1, ordering: .relaxed) }
            try await withLoop(.platformDefault) { loop in
                let server = Peer()
                let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) {
                    $0.start(server)
                }
                let raw = await RawSocket.connect(to: listener.localAddress)
                #expect(await server.events.next() == .connected)
                await loop.run { server.transport?.pauseReading() }
                raw.close()
                await loop.turn {
                    server.send([1])
                    return server.transport == nil
                }
            }
            #expect(signalCount.load(ordering: .relaxed) == 0)
            raise(SIGPIPE)
            #expect(signalCount.load(ordering: .relaxed) == 1)
        }
    }

    @Test func `a process out of descriptors is told so when it makes a loop`() async {
        await #expect(processExitsWith: .success) {
            limitDescriptors(to: openDescriptorCount())
            while unsafe open("/dev/null", O_RDONLY) >= 0 {}
            #expect(throws: TransportError.tooManyDescriptors) {
                try EventLoop(backend: .platformDefault, name: "test")
            }
            #expect(throws: TransportError.tooManyDescriptors) { try EventLoopGroup(count: 2) }
        }
    }

    @Test func `a process out of descriptors is told so when it connects`() async {
        await #expect(processExitsWith: .success) {
            try await withLoop(.platformDefault) { loop in
                limitDescriptors(to: openDescriptorCount())
                // One that was closed meanwhile would be one to connect with.
                while unsafe open("/dev/null", O_RDONLY) >= 0 {}
                let address = SocketAddress(.loopbackV4, port: 9)
                let endpoint = try Endpoint(host: "127.0.0.1", port: 9)
                let failure = ConnectFailure(endpoint: endpoint, address: address, error: .tooManyDescriptors)
                do throws(TransportError) {
                    _ = try await TCPConnector.connect(to: [endpoint], on: loop)
                    Issue.record("connected without a descriptor")
                } catch {
                    #expect(error == .connectFailed([failure]))
                }
            }
        }
    }
}

private let signalCount = Atomic(0)

/// The descriptors below the limit are those that are open now: the lowest free number is beyond it.
private func openDescriptorCount() -> Int {
    (0..<4096).count { fcntl(Int32($0), F_GETFD) >= 0 }
}

private func limitDescriptors(to count: Int) {
    // Numbers are given out from the lowest: fill the gaps first.
    var highest = 0
    while let next = Optional(dup(0)), next >= 0, Int(next) < count { highest = Int(next) }
    var limit = rlimit()
    unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = rlim_t(max(count, highest + 1))
    unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
    while dup(0) >= 0 {}
}

private func surviveDescriptorExhaustion(_ backend: EventLoop.Backend) async throws {
    try await withLoop(backend) { loop in
        let accepted = Events<Peer>()
        let trouble = Events<TransportError>()
        var options = TCPListener.Options()
        options.onAcceptTrouble = { trouble.send($0) }
        let listener = try TCPListener.bind(
            to: SocketAddress(.loopbackV4, port: 0), on: loop, options: options
        ) { connection in
            let peer = Peer(.echo)
            connection.start(peer)
            accepted.send(peer)
        }
        // One before, so that everything that is made once has been made.
        let bystander = await RawSocket.connect(to: listener.localAddress)
        _ = await accepted.next()

        let early = RawSocket.open()
        let late = RawSocket.open()
        limitDescriptors(to: openDescriptorCount())
        await early.connect(to: listener.localAddress)
        #expect(await trouble.next() == .tooManyDescriptors)
        await late.connect(to: listener.localAddress)
        await bystander.send([1])
        #expect(await bystander.receive(byteCount: 1) == [1])
        #expect(trouble.isEmpty && accepted.isEmpty)

        var limit = rlimit()
        unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur += 16
        unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
        for _ in 0..<2 { _ = await accepted.next() }
        for raw in [early, late] {
            await raw.send([2])
            #expect(await raw.receive(byteCount: 1) == [2])
        }
        #expect(trouble.isEmpty)
    }
}

private func leaveNoDescriptor(_ backend: EventLoop.Backend) async throws {
    // The first round makes what is made once for the process.
    try await useEverything(backend)
    let before = openDescriptorCount()
    for _ in 0..<5 { try await useEverything(backend) }
    // The last reference to a descriptor may go some turns after its end was told; one that stays is a leak.
    var patience = 10_000
    while openDescriptorCount() > before, patience > 0 {
        patience -= 1
        await Task.yield()
    }
    #expect(openDescriptorCount() <= before)
}

private func useEverything(_ backend: EventLoop.Backend) async throws {
    try await withLoop(backend) { loop in
        for _ in 0..<10 {
            let ordinary = try await Pair.connect(on: loop)
            loop.execute { ordinary.client.transport?.close(afterFlush: true) }
            #expect(await ordinary.server.events.next() == .endOfStream)
            let reset = try await Pair.connect(on: loop)
            loop.execute { reset.client.transport?.abort() }
            #expect(await reset.server.events.next() == .closed(.reset))
        }
        let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { _ in }
        let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port)
        _ = try await TCPConnector.connect(to: [endpoint, endpoint], on: loop)
        await listener.closeAndWait()
        _ = try? await TCPConnector.connect(to: [endpoint], on: loop)
        let hole = await RawSocket.blackHole()
        let dark = try Endpoint(host: "127.0.0.1", port: hole.address.port)
        let task = Task { try await TCPConnector.connect(to: [dark], on: loop) }
        task.cancel()
        _ = try? await task.value
        await loop.run { try? PathMonitor(on: loop) { _ in }.start() }
        // Left to the loop's end.
        _ = try await Pair.connect(on: loop)
    }
}
