import MartletLink
import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay
@testable import MartletWebSocket

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

    /// A driver behind the web proxy 127.0.0.1, at which an address has one connection.
    private static func driver(on loop: EventLoop, _ log: EventLog) throws -> RelayDriver {
        var configuration = try Relay.Configuration(port: 0)
        configuration.limits.maxConnections = 1
        configuration.webSockets?.forwarders = [try #require(IPNetwork("127.0.0.1"))]
        configuration.webSockets?.files = WebFolder(WebFiles(["index.html": Array("page".utf8)]))
        let parts = RelayParts(
            configuration, InMemoryStore(), .allowAll, .allowAll, nil, nil, nil, nil, nil, log.note)
        let driver = RelayDriver(parts, on: loop, place: LoopPlace(index: 0, count: 1), nil)
        driver.setDrivers([driver])
        return driver
    }

    /// The status of the answer to the first bytes of a connection of the proxy; nil without an answer.
    private static func answer(
        to bytes: [UInt8], by driver: RelayDriver
    ) throws -> (lower: ScriptedTransport, status: String?) {
        let lower = ScriptedTransport(on: driver.loop, remote: SocketAddress("127.0.0.1:5000"))
        driver.accept(lower, try #require(driver.admit(lower.remoteAddress)))
        lower.connect()
        lower.give(bytes)
        if lower.end == .aborted {
            lower.didClose()
            return (lower, nil)
        }
        return (lower, String(decoding: lower.take().dropFirst(9).prefix(3), as: UTF8.self))
    }

    // C-122, C-131, Specs/hostile.md row 131
    @Test("requests of files through a named proxy -> each counts for its client, until its response has ended")
    func files() async throws {
        let log = EventLog()
        try await onLoop { loop in
            let driver = try! Self.driver(on: loop, log)
            func get(_ client: String) -> (lower: ScriptedTransport, status: String?) {
                try! Self.answer(
                    to: Array("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \(client)\r\n\r\n".utf8), by: driver)
            }
            let idle = (0..<5).map { _ in try! Self.answer(to: [], by: driver) }
            let first = get("192.0.2.1")
            #expect(first.status == "200")
            #expect(get("192.0.2.1").status == nil)
            #expect(get("192.0.2.2").status == "200")
            first.lower.didClose()
            #expect(get("192.0.2.1").status == "200")
            for each in idle { each.lower.didClose() }
            driver.setDrivers([])
        }
        let refused = log.all.compactMap { event -> String? in
            if case .connectionsRefused(_, let peer?) = event { "\(peer.ip)" } else { nil }
        }
        #expect(refused == ["192.0.2.1"])
    }

    // C-122, Specs/hostile.md row 52
    @Test("frames, or a request without an address, of a named proxy -> each counts for the proxy")
    func withoutAddress() async throws {
        let frame: [UInt8] = [1]
        let request = Array("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: unknown\r\n\r\n".utf8)
        for (first, second) in [(frame, request), (request, frame), (frame, frame), (request, request)] {
            try await onLoop { loop in
                let driver = try! Self.driver(on: loop, EventLog())
                let (lower, status) = try! Self.answer(to: first, by: driver)
                #expect(status == (first == frame ? "" : "200"))
                #expect(try! Self.answer(to: second, by: driver).status == nil)
                lower.didClose()
                // A transport has no handler after its last event.
                lower.replaceHandler(RecordingHandler())
                #expect(try! Self.answer(to: second, by: driver).status != nil)
                driver.setDrivers([])
            }
        }
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
