import MartletTransport
import Synchronization
import Testing

/// An actor that lives on a loop.
private actor Resident {
    nonisolated let loop: EventLoop
    private(set) var count = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    func isAtHome() -> Bool { loop.isOnLoop }

    func step() { count += 1 }

    nonisolated func assumeHere() { assumeIsolated { $0.step() } }
}

@Suite(.timeLimit(.minutes(10)))
struct EventLoopTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `an actor whose executor is the loop runs on the loop`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let resident = Resident(on: loop)
            #expect(await resident.isAtHome())
            #expect(!loop.isOnLoop)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `on the loop an actor's isolation may be assumed`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let resident = Resident(on: loop)
            let count = await loop.run {
                resident.assumeHere()
                return resident.assumeIsolated { $0.count }
            }
            #expect(count == 1)
        }
    }

    @Test func `off the loop an actor's isolation may not be assumed`() async {
        await #expect(processExitsWith: .failure) {
            try Resident(on: EventLoop(name: "test")).assumeHere()
        }
    }

    @Test func `what belongs to a loop cannot be used off it`() async {
        await #expect(processExitsWith: .failure) {
            _ = try LoopTimer(on: EventLoop(name: "test")) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `work of one thread runs in its order, with the jobs of actors`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let seen = Guarded<[Int]>([])
            for number in 0..<1000 {
                loop.execute { seen.withLock { $0.append(number) } }
            }
            _ = await loop.run {}
            #expect(seen.withLock { $0 } == Array(0..<1000))
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `no work of many threads is lost or run beside other work`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let resident = Resident(on: loop)
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { for _ in 0..<500 { await resident.step() } }
                }
            }
            #expect(await resident.count == 4000)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `jobs that never end do not keep sockets waiting`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let isDone = Atomic(false)
            @Sendable func again() {
                if !isDone.load(ordering: .relaxed) { loop.execute(again) }
            }
            loop.execute(again)
            let pair = try await Pair.connect(on: loop, server: Peer(.echo))
            loop.execute { pair.client.send([1, 2, 3]) }
            await pair.client.receive(byteCount: 3)
            isDone.store(true, ordering: .relaxed)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `at the turn's end handlers come before the flush, once`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let order = Events<String>()
            await loop.run {
                pair.client.onFill = { order.send("fill") }
                pair.client.send([1])
                loop.onTurnEnd {
                    order.send("end")
                    loop.onTurnEnd { order.send("end of the end") }
                }
                order.send("turn")
            }
            await pair.server.receive(byteCount: 1)
            order.finish()
            var seen: [String] = []
            while let next = await order.next() { seen.append(next) }
            #expect(seen.prefix(4) == ["turn", "end", "end of the end", "fill"])
            #expect(seen.filter { $0 == "end" }.count == 1)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `shutting down closes what is open and tells`(_ backend: EventLoop.Backend) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        let pair = try await Pair.connect(on: loop)
        let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { _ in }
        await loop.shutdown()
        for peer in [pair.client, pair.server] {
            let event = await peer.events.next()
            #expect(event == .closed(.local))
        }
        let raw = await RawSocket.connect(to: listener.localAddress)
        #expect(await raw.receiveAll() == nil)
    }

    private final class StopWitness: LoopStopHandler {
        private let tell: () -> Void

        init(_ tell: @escaping () -> Void) {
            self.tell = tell
        }

        func loopWillStop() { tell() }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `shutting down tells who asked for it once, and nobody who asks later`(
        _ backend: EventLoop.Backend
    ) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        let (told, continuation) = AsyncStream.makeStream(of: Int.self)
        loop.execute {
            let removed = StopWitness { continuation.yield(2) }
            continuation.yield(loop.add(StopWitness { continuation.yield(1) }) && loop.add(removed) ? 10 : 20)
            loop.remove(removed)
        }
        await loop.shutdown()
        await loop.shutdown()
        loop.execute {
            continuation.yield(loop.add(StopWitness { continuation.yield(3) }) ? 30 : 40)
            continuation.finish()
        }
        var all: [Int] = []
        for await next in told { all.append(next) }
        #expect(all == [10, 1, 40])
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `jobs that come after the end still run, one at a time`(_ backend: EventLoop.Backend) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        await loop.shutdown()
        await loop.shutdown()
        let resident = Resident(on: loop)
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<50 { await resident.step() } }
            }
        }
        #expect(await resident.count == 200)
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `a connection that starts after the end is closed at once`(_ backend: EventLoop.Backend) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: .shared) { _ in }
        let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port, security: .plain)
        let connection = try await TCPConnector.connect(to: [endpoint], on: loop)
        await loop.shutdown()
        let peer = Peer()
        loop.execute { connection.start(peer) }
        #expect(await peer.events.next() == .closed(.error(.loopStopped)))
        await listener.closeAndWait()
    }

    @Test func `a loop that polls busily takes work, timers and bytes as any other`() async throws {
        let loop = try EventLoop(name: "busy", busyPollLimit: .milliseconds(1))
        let pair = try await Pair.connect(on: loop)
        for byteCount in 1...200 {
            await loop.run { pair.client.send([7]) }
            await pair.server.receive(byteCount: byteCount)
        }
        let fired = Events<Void>()
        let timer = await loop.run { LoopTimer(on: loop) { fired.send(()) } }
        await loop.run { timer.set(deadline: loop.deadline(after: .microseconds(500))) }
        await fired.next()
        await loop.shutdown()
    }

    @Test func `a group hands out its loops in turn`() async throws {
        let group = try EventLoopGroup(count: 3)
        let names = (0..<6).map { _ in group.next().name }
        #expect(names == ["martlet-0", "martlet-1", "martlet-2", "martlet-0", "martlet-1", "martlet-2"])
        await group.shutdown()
    }
}
