import MartletTransport
import Synchronization
import Testing

/// An actor on a loop.
private actor Resident {
    nonisolated let loop: EventLoop
    private(set) var count = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    func isOnLoop() -> Bool { loop.isOnLoop && EventLoop.current === loop }

    func step() { count += 1 }

    nonisolated func assumeOnLoop() { assumeIsolated { $0.step() } }
}

@Suite(.timeLimit(.minutes(10)))
struct EventLoopTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `actor with the loop as executor runs on the loop`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let resident = Resident(on: loop)
            #expect(await resident.isOnLoop())
            #expect(!loop.isOnLoop && EventLoop.current == nil)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `assumeIsolated succeeds on the loop`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let resident = Resident(on: loop)
            let count = await loop.run {
                resident.assumeOnLoop()
                return resident.assumeIsolated { $0.count }
            }
            #expect(count == 1)
        }
    }

    @Test func `assumeIsolated traps off the loop`() async {
        await #expect(processExitsWith: .failure) {
            try Resident(on: EventLoop(name: "test")).assumeOnLoop()
        }
    }

    @Test func `timer created off its loop traps`() async {
        await #expect(processExitsWith: .failure) {
            _ = try LoopTimer(on: EventLoop(name: "test")) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `work of one thread runs in order`(_ backend: EventLoop.Backend) async throws {
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
    func `actor jobs of many threads all run, one at a time`(_ backend: EventLoop.Backend) async throws {
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
    func `endless jobs do not starve sockets`(_ backend: EventLoop.Backend) async throws {
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
    func `turn-end handlers run once, before the flush`(_ backend: EventLoop.Backend) async throws {
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
    func `shutdown closes connections as local and the listener`(_ backend: EventLoop.Backend) async throws {
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

    private final class StopRecorder: LoopStopHandler {
        private let onStop: () -> Void

        init(_ onStop: @escaping () -> Void) {
            self.onStop = onStop
        }

        func loopWillStop() { onStop() }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `shutdown notifies added handlers once, and later ones are refused`(
        _ backend: EventLoop.Backend
    ) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        let (events, continuation) = AsyncStream.makeStream(of: Int.self)
        loop.execute {
            let removed = StopRecorder { continuation.yield(2) }
            continuation.yield(loop.add(StopRecorder { continuation.yield(1) }) && loop.add(removed) ? 10 : 20)
            loop.remove(removed)
        }
        await loop.shutdown()
        await loop.shutdown()
        loop.execute {
            continuation.yield(loop.add(StopRecorder { continuation.yield(3) }) ? 30 : 40)
            continuation.finish()
        }
        var all: [Int] = []
        for await next in events { all.append(next) }
        #expect(all == [10, 1, 40])
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `jobs submitted after the shutdown run, one at a time`(_ backend: EventLoop.Backend) async throws {
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
    func `connection started after the shutdown closes as loopStopped`(_ backend: EventLoop.Backend) async throws {
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

    @Test func `spinning loop delivers work, timers and bytes`() async throws {
        let loop = try EventLoop(name: "spinning", spinLimit: .milliseconds(1))
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
}
