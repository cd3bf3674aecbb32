import MartletTransport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TCPConnectionCloseTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `close after flush sends all bytes to a slow reader, then the end`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            var options = TCPOptions.smallBuffers
            options.closeTimeout = .seconds(30)
            let pair = try await Pair.connect(on: loop, server: Peer(.count), options: options)
            await loop.run {
                pair.server.transport?.pauseReading()
                pair.client.sendPattern(byteCount: 1 << 20)
                pair.client.transport?.close(afterFlush: true)
            }
            await loop.turn { (pair.client.transport?.unsentByteCount ?? 0) > 0 }
            loop.execute { pair.server.transport?.resumeReading() }
            #expect(await pair.server.events.next() == .endOfStream)
            #expect(await loop.run { pair.server.receivedByteCount } == 1 << 20)
            #expect(await pair.server.events.next() == .closed(.endOfStream))
            #expect(await pair.client.events.next() == .closed(.local))
        }
    }

    // C-131
    @Test(arguments: EventLoop.Backend.allCases)
    func `close within a duration sends all bytes to a slow reader after the close timeout`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            var options = TCPOptions.smallBuffers
            options.closeTimeout = .zero
            let pair = try await Pair.connect(on: loop, server: Peer(.count), options: options)
            await loop.run {
                pair.server.transport?.pauseReading()
                pair.client.sendPattern(byteCount: 1 << 20)
                pair.client.transport?.close(within: .seconds(300))
            }
            await loop.turn { (pair.client.transport?.unsentByteCount ?? 0) > 0 }
            loop.execute { pair.server.transport?.resumeReading() }
            #expect(await pair.server.events.next() == .endOfStream)
            #expect(await loop.run { pair.server.receivedByteCount } == 1 << 20)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `peer that ended its stream still receives bytes`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let server = Peer(staysOpenAtEnd: true)
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { $0.start(server) }
            let raw = await RawSocket.connect(to: listener.localAddress)
            #expect(await server.events.next() == .connected)
            await raw.send([1, 2, 3])
            raw.finish()
            #expect(await server.events.next() == .endOfStream)
            await loop.run {
                server.send(server.received + [4])
                server.transport?.close(afterFlush: true)
            }
            #expect(await raw.receiveAll() == [1, 2, 3, 4])
            #expect(await server.events.next() == .closed(.endOfStream))
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `peer's reset closes that connection only`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let other = try await Pair.connect(on: loop, server: Peer(.echo))
            let pair = try await Pair.connect(on: loop)
            loop.execute { pair.client.transport?.abort() }
            #expect(await pair.server.events.next() == .closed(.reset))
            #expect(await pair.client.events.next() == .closed(.local))
            loop.execute { other.client.send([1]) }
            await other.client.receive(byteCount: 1)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `bytes before a peer's reset are received although writing failed`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let server = Peer()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { $0.start(server) }
            let raw = await RawSocket.connect(to: listener.localAddress)
            #expect(await server.events.next() == .connected)
            // One turn blocks the loop while the peer sends and resets, so that a write notices the reset first.
            let isReady = Events<Void>()
            let proceed = Gate()
            loop.execute {
                server.send([0])
                isReady.send(())
                proceed.wait()
            }
            await isReady.next()
            await raw.send(Array("goaway".utf8))
            raw.reset()
            proceed.open()
            #expect(await server.events.next() == .closed(.reset))
            #expect(await loop.run { server.received } == Array("goaway".utf8))
        }
    }

    // C-40, C-60
    @Test(arguments: EventLoop.Backend.allCases)
    func `peer that does not close is reset at the close timeout`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            var options = TCPListener.Options()
            options.connection.closeTimeout = .milliseconds(10)
            let server = Peer()
            let listener = try TCPListener.bind(
                to: SocketAddress(.loopbackV4, port: 0), on: loop, options: options
            ) { $0.start(server) }
            let raw = await RawSocket.connect(to: listener.localAddress)
            #expect(await server.events.next() == .connected)
            await loop.run {
                server.send([9])
                server.transport?.close(afterFlush: true)
            }
            #expect(await server.events.next() == .closed(.local))
            #expect(await raw.receiveAll() == [9])
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `bytes received after close are not delivered`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            await loop.run {
                pair.server.transport?.close(afterFlush: true)
                pair.client.send([1])
            }
            #expect(await pair.server.events.next() == .closed(.local))
            #expect(await loop.run { pair.server.received } == [])
            #expect(await pair.client.events.next() == .endOfStream)
            #expect(await pair.client.events.next() == .closed(.endOfStream))
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `close inside a callback reports once after it`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let order = Events<String>()
            await loop.run {
                pair.server.onReceive = { transport in
                    transport.abort()
                    transport.abort()
                    transport.close(afterFlush: true)
                    transport.setNeedsWrite()
                    transport.resumeReading()
                    order.send("received")
                }
                pair.client.send([1])
            }
            #expect(await order.next() == "received")
            #expect(await pair.server.events.next() == .closed(.local))
            #expect(await pair.client.events.next() == .closed(.reset))
        }
    }

    @Test func `reset closes a connection while reading is paused`() async throws {
        // Dispatch has no source that reports it.
        try await withLoop(.platformDefault) { loop in
            let pair = try await Pair.connect(on: loop)
            await loop.run { pair.server.transport?.pauseReading() }
            loop.execute { pair.client.transport?.abort() }
            #expect(await pair.server.events.next() == .closed(.reset))
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `write to a closed peer closes as reset without a signal`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let server = Peer()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { $0.start(server) }
            let raw = await RawSocket.connect(to: listener.localAddress)
            #expect(await server.events.next() == .connected)
            await loop.run { server.transport?.pauseReading() }
            raw.close()
            // Writes succeed until the peer's reset arrives.
            await loop.turn {
                server.send([1])
                return server.transport == nil
            }
            #expect(await server.events.next() == .closed(.reset))
        }
    }
}
