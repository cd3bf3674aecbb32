import MartletWire

@testable import MartletTransport

/// A TLS connection in memory from its start to its end, on a loop. Side 0 is the client, side 1 the server.
struct MemoryHandshake {
    /// The end of a stream.
    enum Cut {
        case endOfStream
        case reset
    }

    /// The place of a cut: after `count` bytes of a side.
    struct Place {
        var side: Int
        var count: Int
        var cut: Cut
    }

    /// Records the events of a side.
    final class Recorder: TransportHandler {
        private(set) var events: [Peer.Event] = []
        private(set) var receivedByteCount = 0

        func transportDidConnect(_ transport: any Transport) { events.append(.connected) }
        func transport(_ transport: any Transport, didReceive bytes: RawSpan) { receivedByteCount += bytes.byteCount }
        func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool { false }
        func transportDidReceiveEndOfStream(_ transport: any Transport) { events.append(.endOfStream) }
        func transport(_ transport: any Transport, didClose reason: CloseReason) { events.append(.closed(reason)) }
    }

    let recorders = [Recorder(), Recorder()]
    /// The bytes of each side that the other has received.
    private(set) var counts = [0, 0]
    private let lower: [MemoryTransport]

    private init(_ client: TLSClient, _ server: TLSServer, port: UInt16, on loop: EventLoop) throws {
        lower = [MemoryTransport(on: loop), MemoryTransport(on: loop)]
        try client.transport(over: lower[0], to: Endpoint(host: "localhost", port: port)).start(recorders[0])
        server.transport(over: lower[1])?.start(recorders[1])
        for side in lower { side.connect() }
    }

    /// Runs a handshake until a cut, or until neither side has more bytes, and closes both sides.
    static func run(
        _ client: TLSClient, _ server: TLSServer, until place: Place? = nil, port: UInt16, on loop: EventLoop
    ) -> MemoryHandshake? {
        guard var handshake = try? MemoryHandshake(client, server, port: port, on: loop) else { return nil }
        if let place, place.count == 0 { handshake.perform(place) }
        while handshake.moveBytes(until: place) || handshake.closeSides() {}
        for side in handshake.lower where !side.isClosed { side.finish(.local) }
        return handshake
    }

    /// Moves the current output of both sides. Returns whether there was any.
    private mutating func moveBytes(until place: Place?) -> Bool {
        var hasMoved = false
        for side in 0...1 where !lower[1 - side].isClosed {
            var bytes = lower[side].take()
            if let place, place.side == side { bytes = Array(bytes.prefix(place.count - counts[side])) }
            guard !bytes.isEmpty else { continue }
            hasMoved = true
            counts[side] += bytes.count
            lower[1 - side].give(bytes)
            if let place, place.side == side, place.count == counts[side] { perform(place) }
        }
        return hasMoved
    }

    /// Ends the sides that have closed. The end of their streams reaches the other side.
    private func closeSides() -> Bool {
        var hasClosed = false
        for side in 0...1 where lower[side].isClosing && !lower[side].isClosed {
            hasClosed = true
            lower[side].finish(.local)
            lower[1 - side].end()
        }
        return hasClosed
    }

    private func perform(_ place: Place) {
        switch place.cut {
        case .endOfStream: lower[1 - place.side].end()
        case .reset: for side in lower { side.finish(.reset) }
        }
    }
}
