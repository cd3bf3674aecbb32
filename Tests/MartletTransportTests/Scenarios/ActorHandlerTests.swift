import MartletTransport
import Testing

/// A handler that is an actor on its loop. Callbacks enter its isolation without a context switch.
private actor Doubler: TransportHandler {
    nonisolated let loop: EventLoop
    private var pending = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    nonisolated func transportDidConnect(_ transport: any Transport) {}

    nonisolated func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        assumeIsolated { doubler in
            doubler.pending += 2 * bytes.byteCount
            transport.setNeedsWrite()
        }
    }

    nonisolated func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        assumeIsolated { doubler in
            let count = min(doubler.pending, buffer.freeCapacity)
            doubler.pending -= count
            for _ in 0..<count { unsafe buffer.append(0, as: UInt8.self) }
        }
        return true
    }

    nonisolated func transport(_ transport: any Transport, didClose reason: CloseReason) {}
}

@Suite(.timeLimit(.minutes(10)))
struct ActorHandlerTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `actor on the loop works as handler`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { connection in
                connection.start(Doubler(on: connection.loop))
            }
            let raw = await RawSocket.connect(to: listener.localAddress)
            await raw.send([1, 2, 3])
            #expect(await raw.receive(byteCount: 6) == [0, 0, 0, 0, 0, 0])
        }
    }
}
