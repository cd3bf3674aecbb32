import Testing

@testable import MartletTransport

@Suite(.timeLimit(.minutes(10)))
struct TCPConnectionTests {
    // Without multipath TCP in the system the connection is plain TCP.
    @Test(arguments: EventLoop.Backend.allCases, [false, true])
    func `sent bytes are received in both directions`(
        _ backend: EventLoop.Backend, usesMultipath: Bool
    ) async throws {
        try await withLoop(backend) { loop in
            var options = TCPOptions()
            options.usesMultipath = usesMultipath
            let pair = try await Pair.connect(on: loop, server: Peer(.echo), options: options)
            loop.execute { pair.client.send(Array("hello".utf8)) }
            await pair.client.receive(byteCount: 5)
            #expect(await loop.run { pair.client.received } == Array("hello".utf8))
            #expect(await loop.run { pair.client.transport?.unsentByteCount } == 0)
            #expect(await loop.run { pair.client.transport?.isStalled } == false)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `each end reports the other's address`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let (client, server) = await loop.run {
                [pair.client, pair.server].map { ($0.transport?.localAddress, $0.transport?.remoteAddress) }.pair
            }
            #expect(client.0 != nil && client.0 == server.1)
            #expect(client.1 != nil && client.1 == server.0)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `bytes beyond the send buffer arrive complete`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop, server: Peer(.echo), options: .smallBuffers)
            let byteCount = 3 << 20
            loop.execute { pair.client.sendPattern(byteCount: byteCount) }
            await pair.client.receive(byteCount: byteCount)
            #expect(await loop.run { pair.client.received } == pattern(byteCount: byteCount))
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `paused reader stops the writer at one buffer until it resumes`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop, server: Peer(.count), options: .smallBuffers)
            let byteCount = 32 << 20
            await loop.run {
                pair.server.transport?.pauseReading()
                pair.client.sendPattern(byteCount: byteCount)
            }
            await loop.turn { (pair.client.transport?.unsentByteCount ?? 0) > 0 }
            let (filled, unsent) = await loop.run {
                (pair.client.filledByteCount, pair.client.transport?.unsentByteCount ?? 0)
            }
            #expect(unsent <= TCPConnection.smallFillByteCount)
            #expect(filled < 8 << 20)
            #expect(await loop.run { pair.server.receivedByteCount } == 0)
            loop.execute { pair.server.transport?.resumeReading() }
            await pair.server.receive(byteCount: byteCount)
            #expect(await loop.run { pair.client.filledByteCount } == byteCount)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `pause inside a receive call delays the next one`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop, server: Peer(.count))
            await loop.run {
                pair.server.onReceive = { $0.pauseReading() }
                pair.client.sendPattern(byteCount: 4 << 20)
            }
            await pair.server.receive(byteCount: 1)
            await loop.turn { (pair.client.transport?.unsentByteCount ?? 0) > 0 }
            #expect(await loop.run { pair.server.receptionCount } == 1)
            await loop.run {
                pair.server.onReceive = nil
                pair.server.transport?.resumeReading()
            }
            await pair.server.receive(byteCount: 4 << 20)
        }
    }

    //
    @Test(arguments: EventLoop.Backend.allCases)
    func `read limit of 1,000 bytes gives receive calls of at most 1,000 bytes`(_ backend: EventLoop.Backend)
        async throws
    {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop, server: Peer(.count))
            await loop.run {
                loop.readByteCount = 1000
                pair.client.sendPattern(byteCount: 100_000)
            }
            await pair.server.receive(byteCount: 100_000)
            #expect(await loop.run { pair.server.receptionCount } >= 100)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `flooding connection does not starve another`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let flood = try await Pair.connect(on: loop, client: Peer(), server: Peer(.count))
            let quiet = try await Pair.connect(on: loop, server: Peer(.echo))
            loop.execute { flood.client.sendPattern(byteCount: .max / 2) }
            await flood.server.receive(byteCount: 1 << 20)
            loop.execute { quiet.client.send([7]) }
            await quiet.client.receive(byteCount: 1)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `empty fill may request another, also with a full send buffer`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop, server: Peer(.count), options: .smallBuffers)
            let byteCount = 4 << 20
            await loop.run {
                var emptyFillCount = 0
                pair.client.onFill = {
                    guard pair.client.filledByteCount == byteCount else { return }
                    emptyFillCount += 1
                    if emptyFillCount == 1 { pair.client.transport?.setNeedsWrite() }
                    if emptyFillCount == 2 { pair.client.send([9]) }
                }
                pair.client.sendPattern(byteCount: byteCount)
            }
            await pair.server.receive(byteCount: byteCount + 1)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `flush fills at once, and the end of the turn does not fill again`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let asked = Events<Void>()
            let filled = await loop.run {
                pair.client.onFill = { asked.send(()) }
                pair.client.send([1, 2, 3])
                let before = pair.client.filledByteCount
                pair.client.transport?.flush()
                return [before, pair.client.filledByteCount]
            }
            #expect(filled == [0, 3])
            await pair.server.receive(byteCount: 3)
            asked.finish()
            var count = 0
            while await asked.next() != nil { count += 1 }
            // One fill with bytes and one without.
            #expect(count == 2)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `fill is called until it appends nothing, then not without a request`(_ backend: EventLoop.Backend)
        async throws
    {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let asked = Events<Void>()
            await loop.run {
                pair.client.onFill = { asked.send(()) }
                pair.client.send([1])
                pair.client.send([2])
            }
            await pair.server.receive(byteCount: 2)
            loop.execute { pair.server.send([3]) }
            await pair.client.receive(byteCount: 1)
            asked.finish()
            var count = 0
            while await asked.next() != nil { count += 1 }
            #expect(count == 2)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `moved connection continues on the other loop with its unsent bytes`(
        _ backend: EventLoop.Backend
    ) async throws {
        let other = try EventLoop(backend: backend, name: "other")
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop, server: Peer(.count), options: .smallBuffers)
            let byteCount = 1 << 20
            let peer = Peer()
            await loop.run { pair.client.sendPattern(byteCount: byteCount) }
            let (moved, filled) = await loop.run {
                (pair.client.transport?.move(to: other), pair.client.filledByteCount)
            }
            let transport = try #require(moved)
            await other.run { transport.start(peer) }
            await other.run { peer.send([1, 2, 3]) }
            await pair.server.receive(byteCount: filled + 3)
            await loop.run { pair.server.send([9]) }
            await peer.receive(byteCount: 1)
            #expect(await loop.run { pair.client.transport == nil ? 0 : pair.client.receivedByteCount } == 0)
            await other.run { transport.close(afterFlush: false) }
        }
        await other.shutdown()
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `closing connection does not move`(_ backend: EventLoop.Backend) async throws {
        let other = try EventLoop(backend: backend, name: "other")
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let isMoved = await loop.run {
                pair.client.transport?.close(afterFlush: true)
                return pair.client.transport?.move(to: other) != nil
            }
            #expect(!isMoved)
        }
        await other.shutdown()
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `fill that returns false is not called again`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let asked = Events<Void>()
            await loop.run {
                pair.client.reportsLastFill = true
                pair.client.onFill = { asked.send(()) }
                pair.client.sendPattern(byteCount: TCPConnection.smallFillByteCount + 1)
            }
            await pair.server.receive(byteCount: TCPConnection.smallFillByteCount + 1)
            await loop.run { pair.client.send([1]) }
            await pair.server.receive(byteCount: TCPConnection.smallFillByteCount + 2)
            asked.finish()
            var count = 0
            while await asked.next() != nil { count += 1 }
            #expect(count == 3)
        }
    }
}

extension Array {
    fileprivate var pair: (Element, Element) { (self[0], self[1]) }
}
