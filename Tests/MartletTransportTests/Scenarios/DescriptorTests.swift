import CMartletSystem
import Dispatch
import Glibc
import MartletTransport
import Synchronization
import Testing

@testable import MartletTransport

/// Each test runs in a process of its own, because descriptors and signals belong to the process.
@Suite(.timeLimit(.minutes(10)))
struct DescriptorTests {
    // Specs/hostile.md row 28
    @Test func `listener without descriptors pauses, reports once and resumes (epoll)`() async {
        await #expect(processExitsWith: .success) { try await surviveDescriptorExhaustion(.platformDefault) }
    }

    // Specs/hostile.md row 28
    @Test func `listener without descriptors pauses, reports once and resumes (Dispatch)`() async {
        await #expect(processExitsWith: .success) { try await surviveDescriptorExhaustion(.dispatch) }
    }

    // Specs/hostile.md row 99
    @Test func `connections and files use up the descriptors → the listener pauses, and four remain`() async {
        await #expect(processExitsWith: .success) {
            try await withLoop(.platformDefault) { loop in
                let pauses = Events<TransportError>()
                var options = TCPListener.Options()
                options.onAcceptingPaused = { pauses.send($0) }
                let peers = Events<Peer>()
                let listener = try TCPListener.bind(
                    to: SocketAddress(.loopbackV4, port: 0), on: loop, options: options
                ) { connection in
                    let peer = Peer(.echo)
                    connection.start(peer)
                    peers.send(peer)
                }
                let clients = (0..<40).map { _ in RawSocket.open() }
                var limit = rlimit()
                unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
                limit.rlim_cur = rlim_t(fillDescriptorGaps() + 24)
                unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
                for client in clients { await client.connect(to: listener.localAddress) }
                #expect(await pauses.next() == .tooManyDescriptors)
                let error = #expect(throws: FileError.self) { try RegularFile("/etc/passwd", .read) }
                #expect(error?.number == EMFILE)
                // A descriptor that was refused is free again.
                for _ in 0..<100 { #expect(martlet_socket(4, 0) == -EMFILE) }
                let rest = (0..<64).map { _ in unsafe open("/dev/null", O_RDONLY) }.filter { $0 >= 0 }
                #expect(rest.count >= 4)
            }
        }
    }

    @Test func `shutdown leaves no descriptor open (epoll)`() async {
        await #expect(processExitsWith: .success) { try await leaveNoDescriptor(.platformDefault) }
    }

    @Test func `shutdown leaves no descriptor open (Dispatch)`() async {
        await #expect(processExitsWith: .success) { try await leaveNoDescriptor(.dispatch) }
    }

    @Test func `write to a closed peer raises no SIGPIPE`() async {
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

    @Test func `loop without descriptors throws tooManyDescriptors`() async {
        await #expect(processExitsWith: .success) {
            await withoutDescriptors {
                #expect(throws: TransportError.tooManyDescriptors) {
                    try EventLoop(backend: .platformDefault, name: "test")
                }
                #expect(throws: TransportError.tooManyDescriptors) { try EventLoopGroup(count: 2) }
            }
        }
    }

    @Test func `connect without descriptors fails as tooManyDescriptors`() async {
        await #expect(processExitsWith: .success) {
            try await withLoop(.platformDefault) { loop in
                let address = SocketAddress(.loopbackV4, port: 9)
                let endpoint = try Endpoint(host: "127.0.0.1", port: 9)
                let failure = ConnectFailure(endpoint: endpoint, address: address, error: .tooManyDescriptors)
                await withoutDescriptors {
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
}

private let signalCount = Atomic(0)

/// The number of open descriptors.
private func openDescriptorCount() -> Int {
    (0..<4096).count { fcntl(Int32($0), F_GETFD) >= 0 }
}

/// Uses all descriptors below the highest open one, which may be an inherited one far above the others.
///
/// - Returns: The lowest free descriptor. All above it are free.
private func fillDescriptorGaps() -> Int {
    let highest = (0..<4096).last { fcntl(Int32($0), F_GETFD) >= 0 } ?? 0
    var last = 0
    while last < highest { last = Int(dup(0)) }
    return last + 1
}

/// Returns after a timer of libdispatch has fired.
private func firstTimer() async {
    let timer = DispatchSource.makeTimerSource()
    await withCheckedContinuation { fired in
        timer.setEventHandler {
            timer.cancel()
            fired.resume()
        }
        timer.schedule(deadline: .now() + .microseconds(1))
        timer.resume()
    }
}

private func limitDescriptors() async {
    // The first timer of a process opens descriptors of libdispatch, which traps when there is none left.
    await firstTimer()
    var limit = rlimit()
    unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = rlim_t(fillDescriptorGaps())
    unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
}

/// Runs `body` without a free descriptor. The leak sanitizer needs some when the process ends.
private func withoutDescriptors(_ body: () async -> Void) async {
    await limitDescriptors()
    // A descriptor that is closed meanwhile would be available.
    while unsafe open("/dev/null", O_RDONLY) >= 0 {}
    await body()
    var limit = rlimit()
    unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
}

private func surviveDescriptorExhaustion(_ backend: EventLoop.Backend) async throws {
    try await withLoop(backend) { loop in
        let accepted = Events<Peer>()
        let pauses = Events<TransportError>()
        var options = TCPListener.Options()
        options.onAcceptingPaused = { pauses.send($0) }
        let listener = try TCPListener.bind(
            to: SocketAddress(.loopbackV4, port: 0), on: loop, options: options
        ) { connection in
            let peer = Peer(.echo)
            connection.start(peer)
            accepted.send(peer)
        }
        // The first connection creates the process-wide objects.
        let first = await RawSocket.connect(to: listener.localAddress)
        _ = await accepted.next()

        let early = RawSocket.open()
        let late = RawSocket.open()
        await limitDescriptors()
        await early.connect(to: listener.localAddress)
        #expect(await pauses.next() == .tooManyDescriptors)
        await late.connect(to: listener.localAddress)
        await first.send([1])
        #expect(await first.receive(byteCount: 1) == [1])
        #expect(pauses.isEmpty && accepted.isEmpty)

        var limit = rlimit()
        unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
        // Inherited descriptors can have the numbers just above the limit.
        limit.rlim_cur = limit.rlim_max
        unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
        for _ in 0..<2 { _ = await accepted.next() }
        for raw in [early, late] {
            await raw.send([2])
            #expect(await raw.receive(byteCount: 1) == [2])
        }
        #expect(pauses.isEmpty)
    }
}

private func leaveNoDescriptor(_ backend: EventLoop.Backend) async throws {
    // The first round creates the process-wide objects.
    try await useEverything(backend)
    let before = openDescriptorCount()
    for _ in 0..<5 { try await useEverything(backend) }
    // A descriptor may be released some turns after its close was reported. One that stays open is a leak.
    var attemptsLeft = 10_000
    while !Task.isCancelled, openDescriptorCount() > before, attemptsLeft > 0 {
        attemptsLeft -= 1
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
        let silent = await RawSocket.silentListener()
        let silentEndpoint = try Endpoint(host: "127.0.0.1", port: silent.address.port)
        let task = Task { try await TCPConnector.connect(to: [silentEndpoint], on: loop) }
        task.cancel()
        _ = try? await task.value
        await loop.run { try? PathMonitor(on: loop) { _ in }.start() }
        // The shutdown of the loop closes this connection.
        _ = try await Pair.connect(on: loop)
    }
}
