import MartletTransport

/// Both ends of a connection over the loopback interface, on one loop.
struct Pair {
    var client: Peer
    var server: Peer

    static func connect(
        on loop: EventLoop, client: Peer = Peer(), server: Peer = Peer(), options: TCPOptions = TCPOptions()
    ) async throws -> Pair {
        var listening = TCPListener.Options()
        listening.connection = options
        let listener = try TCPListener.bind(
            to: SocketAddress(.loopbackV4, port: 0), on: loop, options: listening
        ) { $0.start(server) }
        var connecting = TCPConnector.Options()
        connecting.connection = options
        let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port, security: .plain)
        let connection = try await TCPConnector.connect(to: [endpoint], on: loop, options: connecting)
        loop.execute { connection.start(client) }
        for peer in [client, server] {
            guard await peer.events.next() == .connected else { throw PairError.notConnected }
        }
        listener.close()
        return Pair(client: client, server: server)
    }
}

enum PairError: Error {
    case notConnected
}

extension TCPOptions {
    /// Small kernel buffers, which stall a sender soon.
    static var smallBuffers: TCPOptions {
        var options = TCPOptions()
        options.sendBufferByteCount = 128 << 10
        options.receiveBufferByteCount = 128 << 10
        return options
    }
}

/// Bytes that are each the low byte of their position.
func pattern(byteCount: Int) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) }
}
