import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletProxy

@Suite("A stream through a proxy")
struct ProxyTransportTests {
    private static let established = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)

    /// A stream whose connection to the proxy is open, and the bytes that it has sent.
    private static func begun(
        _ proxy: String = "http://p", on loop: EventLoop
    ) -> (lower: ScriptedTransport, transport: ProxyTransport, handler: RecordingHandler, sent: String) {
        let lower = ScriptedTransport(on: loop)
        let handshake = ProxyHandshake(
            through: try! ProxyAddress(proxy), to: try! Endpoint(parsing: "martlets://chat.example"), nonce: [])
        let transport = ProxyTransport(handshake, over: lower)
        let handler = RecordingHandler()
        transport.start(handler)
        handler.outgoing = [7]
        transport.setNeedsWrite()
        lower.connect()
        return (lower, transport, handler, String(decoding: lower.take(), as: UTF8.self))
    }

    // C-128
    @Test func `an answer with bytes behind it → the stream begins, and they belong to it`() async throws {
        try await onLoop { loop in
            let stream = Self.begun(on: loop)
            #expect(stream.sent == "CONNECT chat.example:7227 HTTP/1.1\r\nHost: chat.example:7227\r\n\r\n")
            #expect(stream.handler.connectCount == 0 && stream.handler.outgoing == [7])
            stream.lower.give(Self.established + [1, 2])
            #expect(stream.handler.connectCount == 1 && stream.handler.received == [1, 2])
            #expect(stream.lower.needsWrite && stream.lower.take() == [7])
            stream.lower.give([3])
            stream.lower.giveEnd()
            #expect(stream.handler.received == [1, 2, 3] && stream.handler.endCount == 1)
            stream.transport.close(afterFlush: true)
            #expect(stream.lower.end == .flushed)
            stream.lower.didClose(.endOfStream)
            #expect(stream.handler.reason == .endOfStream)
        }
    }

    // C-128
    @Test func `a refusal → the end with a typed error, and no later input`() async throws {
        try await onLoop { loop in
            let stream = Self.begun(on: loop)
            stream.lower.give(Array("HTTP/1.1 403 no\r\n\r\n".utf8))
            #expect(stream.lower.end == .discarded)
            stream.lower.give(Self.established)
            stream.lower.didClose()
            #expect(stream.handler.reason == .error(.proxy(.refused(status: 403, reason: "no"))))
            #expect(stream.handler.connectCount == 0 && stream.transport.continuation == nil)
        }
    }

    // C-128, C-129
    @Test func `an end or a reset in place of an answer → the proxy ended the connection`() async throws {
        try await onLoop { loop in
            for proxy in ["http://p", "socks5://p"] {
                let ended = Self.begun(proxy, on: loop)
                ended.lower.giveEnd()
                ended.lower.didClose()
                #expect(ended.handler.reason == .error(.proxy(.closed)))
                let reset = Self.begun(proxy, on: loop)
                reset.lower.didClose(.reset)
                #expect(reset.handler.reason == .error(.proxy(.closed)))
            }
        }
    }

    // C-128
    @Test func `a challenge that ends the connection → the exchange continues on a further one`() async throws {
        try await onLoop { loop in
            let first = Self.begun("http://ann:secret@p", on: loop)
            first.lower.give(Array("HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=x\r\n\r\n".utf8))
            #expect(first.lower.end == .discarded)
            first.lower.didClose()
            guard let handshake = first.transport.continuation else {
                Issue.record("no continuation")
                return
            }
            let lower = ScriptedTransport(on: loop)
            let handler = RecordingHandler()
            ProxyTransport(handshake, over: lower).start(handler)
            lower.connect()
            let request = String(decoding: lower.take(), as: UTF8.self)
            #expect(request.hasSuffix("\r\nProxy-Authorization: Basic YW5uOnNlY3JldA==\r\n\r\n"))
            lower.give(Self.established)
            #expect(handler.connectCount == 1)
        }
    }
}
