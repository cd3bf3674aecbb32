import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletWebSocket

@Suite("A WebSocket over a transport")
struct WebSocketTransportTests {
    private static let request = Array(
        ("GET /martlet HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Protocol: martlet\r\n\r\n").utf8)

    /// A client's side that is not connected.
    private static func client(
        on loop: EventLoop
    ) -> (lower: ScriptedTransport, transport: WebSocketTransport, handler: RecordingHandler) {
        let lower = ScriptedTransport(on: loop)
        let endpoint = try! Endpoint(parsing: "ws://localhost")
        let transport = WebSocketTransport(to: endpoint, over: lower)
        let handler = RecordingHandler()
        transport.start(handler)
        return (lower, transport, handler)
    }

    private static func server(
        on loop: EventLoop
    ) -> (lower: ScriptedTransport, transport: WebSocketTransport, handler: RecordingHandler) {
        let lower = ScriptedTransport(on: loop)
        let handler = RecordingHandler()
        let transport = WebSocketTransport(WebSocketOptions(), over: lower, handler: handler)
        return (lower, transport, handler)
    }

    /// A server's side after its upgrade.
    private static func open(
        on loop: EventLoop
    ) -> (lower: ScriptedTransport, transport: WebSocketTransport, handler: RecordingHandler) {
        let server = server(on: loop)
        server.lower.give(request)
        #expect(String(decoding: server.lower.take(), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
        #expect(server.handler.connectCount == 1)
        return server
    }

    private static func masked(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [first, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload
    }

    // C-119, C-120
    @Test("bytes of both sides, in pieces of each size -> the same bytes at the other side")
    func stream() async throws {
        try await onLoop { loop in
            for size in [1, 2, 3, 7, 100, 4_096] {
                let (client, server) = (Self.client(on: loop), Self.server(on: loop))
                client.lower.connect()
                let sent = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
                client.handler.outgoing = sent
                server.handler.outgoing = sent
                for _ in 0..<8 {
                    for (from, to) in [(client.lower, server.lower), (server.lower, client.lower)] {
                        let bytes = from.take(capacity: 20 << 10)
                        for start in stride(from: 0, to: bytes.count, by: size) {
                            to.give(Array(bytes[start..<min(start + size, bytes.count)]))
                        }
                    }
                }
                #expect(client.handler.connectCount == 1 && server.handler.connectCount == 1)
                #expect(server.handler.received == sent && client.handler.received == sent)
            }
        }
    }

    // C-120
    @Test("frames of a client behind its request -> the handler gets their bytes")
    func pipelined() async throws {
        try await onLoop { loop in
            let server = Self.server(on: loop)
            server.lower.give(
                Self.request + Self.masked(0x82, [1, 2]) + Self.masked(0x02, [3]) + Self.masked(0x80, [4]))
            #expect(server.handler.received == [1, 2, 3, 4])
        }
    }

    // C-123, Specs/hostile.md row 114
    @Test("several pings before a write -> a pong to the last one, before data")
    func pings() async throws {
        try await onLoop { loop in
            let server = Self.open(on: loop)
            server.handler.outgoing = [9]
            for number in 0..<UInt8(100) { server.lower.give(Self.masked(0x89, [number])) }
            #expect(server.lower.needsWrite)
            #expect(server.lower.take() == [0x8A, 1, 99, 0x82, 1, 9])
            #expect(server.lower.take() == [])
        }
    }

    // C-123
    @Test("a close frame of the peer -> the end of its stream, the last bytes, and a close frame")
    func closedByPeer() async throws {
        try await onLoop { loop in
            let server = Self.open(on: loop)
            server.lower.give(Self.masked(0x88, [0x03, 0xE8]) + Self.masked(0x82, [1]))
            #expect(server.handler.endCount == 1 && server.handler.received == [])
            server.handler.outgoing = [5]
            server.transport.close(afterFlush: true)
            #expect(server.lower.take() == [0x82, 1, 5, 0x88, 2, 0x03, 0xE8])
            #expect(server.lower.end == .flushed)
            server.lower.didClose()
            #expect(server.handler.reason == .endOfStream)
        }
    }

    // C-55, C-123
    @Test(
        "a close frame of the server without goaway, with any code or none -> the end of its stream, and an answer",
        arguments: [[], [0x03, 0xE8], [0x03, 0xE9], [0x03, 0xF3, 0x78], [0x0F, 0xA0]] as [[UInt8]])
    func closedByServer(_ payload: [UInt8]) async throws {
        try await onLoop { loop in
            let (client, server) = (Self.client(on: loop), Self.server(on: loop))
            client.lower.connect()
            server.lower.give(client.lower.take())
            client.lower.give(server.lower.take())
            #expect(client.handler.connectCount == 1)
            client.lower.give([0x82, 1, 7, 0x88, UInt8(payload.count)] + payload + [0x82, 1, 8])
            #expect(client.handler.received == [7] && client.handler.endCount == 1)
            client.transport.close(afterFlush: false)
            #expect(client.lower.take().prefix(2) == [0x88, 0x82])
            client.lower.didClose()
            #expect(client.handler.endCount == 1 && client.handler.reason == .endOfStream)
        }
    }

    // C-123
    @Test("a close frame of the peer, and a close without a flush -> a close frame in answer")
    func answeredWithoutFlush() async throws {
        try await onLoop { loop in
            let server = Self.open(on: loop)
            server.handler.outgoing = [5]
            server.lower.give(Self.masked(0x88, []))
            server.transport.close(afterFlush: false)
            #expect(server.lower.take() == [0x88, 2, 0x03, 0xE8])
            #expect(server.lower.end == .flushed)
        }
    }

    // C-123
    @Test("a server that stops -> its last bytes and a close frame with 1001")
    func goingAway() async throws {
        try await onLoop { loop in
            let server = Self.open(on: loop)
            server.transport.closeCode = .goingAway
            server.handler.outgoing = [1, 2, 3]
            server.transport.close(afterFlush: true)
            #expect(server.lower.take() == [0x82, 3, 1, 2, 3, 0x88, 2, 0x03, 0xE9])
            server.lower.give(Self.masked(0x82, [1]))
            #expect(server.handler.received == [])
        }
    }

    // C-123
    @Test("the end of the carrier without a close frame -> a loss")
    func cut() async throws {
        try await onLoop { loop in
            let server = Self.open(on: loop)
            server.lower.giveEnd()
            #expect(server.lower.end == .discarded && server.handler.endCount == 0)
            server.lower.didClose()
            #expect(server.handler.reason == .reset)
        }
    }

    // C-123, Specs/hostile.md row 112
    @Test(
        "a violation -> the bytes before it, a close frame with its code, and the error",
        arguments: [
            (masked(0x81, [1]), WebSocketError.textMessage, 1003), (masked(0xC2, [1]), .reservedBits, 1002),
            ([0x82, 1, 1], .invalidMask, 1002), (masked(0x83, []), .unknownOpcode, 1002),
            (masked(0x88, [0x03, 0xE8, 0xFF]), .invalidCloseReason, 1007),
        ] as [([UInt8], WebSocketError, Int)])
    func violation(_ bytes: [UInt8], _ error: WebSocketError, _ code: Int) async throws {
        try await onLoop { loop in
            let server = Self.open(on: loop)
            server.lower.give(Self.masked(0x82, [7]) + bytes + Self.masked(0x82, [8]))
            server.handler.outgoing = [5]
            #expect(server.handler.received == [7])
            #expect(server.lower.take() == [0x88, 2, UInt8(code >> 8), UInt8(code & 255)])
            #expect(server.lower.end == .flushed)
            server.lower.give(Self.masked(0x82, [8]))
            server.lower.didClose()
            #expect(server.handler.received == [7] && server.handler.reason == .error(.webSocket(error)))
        }
    }

    // C-119, Specs/hostile.md row 110
    @Test("a request that is refused -> the answer, then the end, and nothing of the handler")
    func refused() async throws {
        try await onLoop { loop in
            let server = Self.server(on: loop)
            server.handler.outgoing = [1]
            server.lower.give(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            #expect(String(decoding: server.lower.take(), as: UTF8.self).hasPrefix("HTTP/1.1 404 "))
            #expect(server.lower.end == .flushed)
            server.lower.didClose()
            #expect(server.handler.connectCount == 0 && server.handler.outgoing == [1])
            #expect(server.handler.reason == .error(.webSocket(.refused(status: 404))))
        }
    }

    // C-131, Specs/hostile.md row 131
    @Test("a request of a file -> the end of the connection for the handler, all bytes, its share until the last event")
    func answered() async throws {
        var options = WebSocketOptions()
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let folder = WebFolder(WebFiles(["a.png": content]))
        options.files = folder
        try await onLoop { [options] loop in
            let lower = ScriptedTransport(on: loop)
            var handler: RecordingHandler? = RecordingHandler()
            weak let released = handler
            _ = WebSocketTransport(options, over: lower, handler: handler!)
            handler?.outgoing = [1]
            lower.give(Array("GET /a.png HTTP/1.1\r\nHost: a\r\n\r\nmore".utf8))
            #expect(handler?.reason == .endOfStream && handler?.connectCount == 0)
            handler = nil
            #expect(lower.end == .flushed && lower.closeDuration == WebFolder.responseTimeout)
            let response = lower.take(capacity: 19 << 10)
            #expect(response.starts(with: "HTTP/1.1 200 OK\r\n".utf8) && response.suffix(content.count) == content[...])
            #expect(released != nil)
            lower.didClose(.reset)
            #expect(released == nil && released?.reason == nil)
        }
    }

    // C-131, Specs/hostile.md row 131
    @Test("more requests than responses are permitted at a time -> 503, until one has ended")
    func tooManyResponses() async throws {
        var options = WebSocketOptions()
        options.files = WebFolder(WebFiles(["index.html": [1]]))
        try await onLoop { [options] loop in
            func status() -> (lower: ScriptedTransport, status: String) {
                let lower = ScriptedTransport(on: loop)
                _ = WebSocketTransport(options, over: lower, handler: RecordingHandler())
                lower.give(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
                return (lower, String(decoding: lower.take().dropFirst(9).prefix(3), as: UTF8.self))
            }
            let first = (0..<WebFolder.maxResponseCount).map { _ in status() }
            #expect(first.allSatisfy { $0.status == "200" })
            #expect(status().status == "503")
            first[7].lower.didClose()
            #expect(status().status == "200")
            for each in first { each.lower.didClose() }
        }
    }

    // C-119, Specs/hostile.md row 110
    @Test("a request that is not complete at the end of the handshake -> 408")
    func late() async throws {
        try await onLoop { loop in
            let server = Self.server(on: loop)
            server.lower.give(Array(Self.request.dropLast()))
            server.handler.outgoing = [1]
            #expect(server.lower.take() == [])
            server.transport.close(afterFlush: true)
            #expect(String(decoding: server.lower.take(), as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
            #expect(server.handler.connectCount == 0 && server.lower.end == .flushed)
        }
    }

    // C-119, Specs/hostile.md row 113
    @Test("a server that does not accept -> the error, and no byte more")
    func clientRefused() async throws {
        try await onLoop { loop in
            let client = Self.client(on: loop)
            client.lower.connect()
            #expect(String(decoding: client.lower.take(), as: UTF8.self).hasPrefix("GET /martlet HTTP/1.1\r\n"))
            client.handler.outgoing = [1]
            client.lower.give(Array("HTTP/1.1 403 Forbidden\r\n\r\n".utf8))
            #expect(client.lower.end == .discarded && client.handler.connectCount == 0)
            #expect(client.lower.take() == [])
            client.lower.didClose()
            #expect(client.handler.reason == .error(.webSocket(.refused(status: 403))))
        }
    }

    @Test("a client's frames -> other masks for each")
    func freshMasks() async throws {
        try await onLoop { loop in
            let client = Self.client(on: loop)
            let server = Self.server(on: loop)
            client.lower.connect()
            server.lower.give(client.lower.take())
            client.lower.give(server.lower.take())
            var masks: Set<[UInt8]> = []
            for _ in 0..<10 {
                client.handler.outgoing = [0]
                client.transport.setNeedsWrite()
                let frame = client.lower.take()
                #expect(frame.count == 7)
                masks.insert(Array(frame.dropFirst(2).prefix(4)))
                server.lower.give(frame)
            }
            #expect(masks.count > 1 && server.handler.received == [UInt8](repeating: 0, count: 10))
        }
    }
}
