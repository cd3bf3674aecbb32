import Testing

@testable import MartletTransport

@Suite(.timeLimit(.minutes(10)))
struct TCPConnectionTests {
    // Where the system has no multipath TCP it is plain TCP, and nobody notices.
    @Test(arguments: EventLoop.Backend.allCases, [false, true])
    func `what one end sends the other receives, and back`(
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
    func `both ends know each other's address`(_ backend: EventLoop.Backend) async throws {
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
    func `what the kernel takes in pieces arrives whole`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop, server: Peer(.echo), options: .smallBuffers)
            let byteCount = 3 << 20
            loop.execute { pair.client.sendPattern(byteCount: byteCount) }
            await pair.client.receive(byteCount: byteCount)
            #expect(await loop.run { pair.client.received } == pattern(byteCount: byteCount))
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `a writer to a paused reader is stopped, holds one buffer, and goes on after`(
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
    func `pausing inside a reception holds the next one back`(_ backend: EventLoop.Backend) async throws {
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
    func `with a bound of 1,000 bytes a read, no reception is longer`(_ backend: EventLoop.Backend) async throws {
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
    func `a connection that floods does not keep another from its turn`(_ backend: EventLoop.Backend) async throws {
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
    func `a fill that gives nothing may ask for another, also behind a full kernel`(
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
    func `flushing asks at once, and the turn's end asks nothing again`(_ backend: EventLoop.Backend) async throws {
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
            // One that gave something, one that gave nothing.
            #expect(count == 2)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `fill is asked for until it gives nothing, and not again unasked`(_ backend: EventLoop.Backend) async throws {
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
    func `a connection goes on on another loop, with what it had not sent yet`(
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
    func `what is about to end stays where it is`(_ backend: EventLoop.Backend) async throws {
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
    func `who says that there is no more is not asked again`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let pair = try await Pair.connect(on: loop)
            let asked = Events<Void>()
            await loop.run {
                pair.client.saysWhenDone = true
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
