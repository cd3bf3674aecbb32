import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// WebSockets at a relay: the addresses that proxies state, and bytes that are no request.
@Suite("Hostile WebSockets", .timeLimit(.minutes(10)))
struct WebSocketAddressTests {
    private func request(_ fields: String...) -> [UInt8] {
        let lines =
            [
                "GET /martlet HTTP/1.1", "Host: a", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Protocol: martlet",
            ] + fields + ["", ""]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// A masked frame with a hello.
    private func frame(_ hello: Hello) -> [UInt8] {
        let bytes = FrameHeader(type: Hello.type).frame(body: hello.encode().rawBytes)
        let length =
            bytes.count < 126
            ? [0x80 | UInt8(bytes.count)] : [0xFE, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
        return [0x82] + length + [0, 0, 0, 0] + bytes
    }

    // C-122, Specs/hostile.md row 111
    @Test("a named proxy states the addresses of its clients, each of which has its own limits", arguments: [1, 2])
    func forwarded(loopCount: Int) async throws {
        let log = EventLog()
        var webSockets = WebSocketOptions()
        webSockets.forwarders = [try #require(IPNetwork("127.0.0.0/8"))]
        var limits = PeerLimits.unlimited
        limits.maxConnections = 1
        try await withRelay(
            limits: limits, loopCount: loopCount, webSockets: webSockets, onEvent: log.note
        ) { relay, port in
            var peers: [WirePeer] = []
            for (index, client) in ["192.0.2.1", "192.0.2.2", "192.0.2.1"].enumerated() {
                let peer = try await WirePeer.connect(to: port)
                // The peer would refuse the answer to the request, which is no frame.
                await peer.pauseReading()
                let hello = FrameWriter.hello("user-\(index)", device: UInt64(index + 1))
                await peer.send(request("X-Forwarded-For: 198.51.100.9, \(client)") + frame(hello))
                peers.append(peer)
                while !Task.isCancelled, log.all.count < index + 1 { await Task.yield() }
            }
            for peer in peers { await peer.cut() }
        }
        let linked = log.all.compactMap { event -> String? in
            if case .note(.link(.linked), let peer?) = event { "\(peer.ip)" } else { nil }
        }
        #expect(linked == ["192.0.2.1", "192.0.2.2"])
        let refused = log.all.compactMap { event -> String? in
            if case .connectionsRefused(_, let peer?) = event { "\(peer.ip)" } else { nil }
        }
        #expect(refused == ["192.0.2.1"])
    }

    // C-122, Specs/hostile.md row 111
    @Test("the same field of a peer that is no proxy -> its own address")
    func unnamed() async throws {
        let log = EventLog()
        try await withRelay(onEvent: log.note) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.pauseReading()
            await peer.send(request("X-Forwarded-For: 192.0.2.1") + frame(FrameWriter.hello()))
            while !Task.isCancelled, log.all.isEmpty { await Task.yield() }
            await peer.cut()
        }
        guard case .note(.link(.linked), let peer?)? = log.all.first else { return #expect(Bool(false)) }
        #expect(peer.ip.isLoopback)
    }

    // C-118, C-119, Specs/hostile.md row 110
    @Test("a relay without WebSockets -> a request is no frame")
    func disabled() async throws {
        try await withRelay(webSockets: nil) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(request())
            #expect(try await peer.finalNotice()?.code == .badMagic)
        }
    }
}
