import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletWebSocket

@Suite("The detection of a WebSocket")
struct CarrierDetectorTests {
    private static let frame: [UInt8] = [0x8D, 0x4D, 0x52, 0x54, 1, 0]

    private static func detect(
        _ applicationProtocol: String?, _ bytes: [UInt8], cut: Int, on loop: EventLoop,
        options: WebSocketOptions = WebSocketOptions()
    ) -> (lower: ScriptedTransport, handler: RecordingHandler, isWebSocket: Bool) {
        let lower = ScriptedTransport(on: loop, applicationProtocol: applicationProtocol)
        let handler = RecordingHandler()
        var webSocket: WebSocketTransport?
        CarrierDetector.start(lower, options, handler: handler) { webSocket = $0 }
        lower.connect()
        if cut > 0 { lower.give(Array(bytes[..<cut])) }
        if cut < bytes.count, lower.end == nil { lower.give(Array(bytes[cut...])) }
        return (lower, handler, webSocket != nil)
    }

    // C-118
    @Test("the first bytes of frames, or others than those of a request -> the handler gets them all")
    func frames() async throws {
        try await onLoop { loop in
            for bytes in [Self.frame, Array("GETX".utf8), Array("POST / HTTP".utf8), [0x16, 3, 1]] {
                for cut in 0...bytes.count {
                    for name in [nil, "martlet/1"] {
                        let found = Self.detect(name, bytes, cut: cut, on: loop)
                        #expect(!found.isWebSocket && found.handler.received == bytes && found.lower.end == nil)
                    }
                }
            }
        }
    }

    // C-118
    @Test("a request without TLS, with http/1.1 and without an application protocol -> a WebSocket")
    func requests() async throws {
        try await onLoop { loop in
            let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            for cut in 0...bytes.count {
                for name in [nil, "http/1.1", ""] {
                    let found = Self.detect(name, bytes, cut: cut, on: loop)
                    #expect(found.isWebSocket && found.handler.received == [])
                    #expect(String(decoding: found.lower.take(), as: UTF8.self).hasPrefix("HTTP/1.1 404 "))
                }
            }
        }
    }

    // C-131
    @Test("requests of each method, and other texts, where there are files -> responses; the handler gets the texts")
    func methods() async throws {
        var options = WebSocketOptions()
        options.files = WebFolder(WebFiles(["index.html": []]))
        try await onLoop { [options] loop in
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
                let bytes = Array("\(method) / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
                for cut in 0...bytes.count {
                    let found = Self.detect(nil, bytes, cut: cut, on: loop, options: options)
                    #expect(found.isWebSocket && found.handler.received == [])
                    let status = ["GET", "HEAD"].contains(method) ? "200" : "405"
                    #expect(String(decoding: found.lower.take(), as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
                }
            }
            for text in ["POSTX", "HELP ", "PURGE ", "EHLO a", "get / "] {
                for cut in 0...text.utf8.count {
                    let found = Self.detect(nil, Array(text.utf8), cut: cut, on: loop, options: options)
                    #expect(!found.isWebSocket && found.handler.received == Array(text.utf8))
                }
            }
        }
    }

    // C-118, C-65, Specs/hostile.md row 115
    @Test("frames over TLS without an application protocol -> the end, noCommonProtocol")
    func unnamed() async throws {
        try await onLoop { loop in
            let found = Self.detect("", Self.frame, cut: 2, on: loop)
            #expect(!found.isWebSocket && found.handler.received == [] && found.lower.end == .discarded)
            found.lower.didClose()
            #expect(found.handler.reason == .error(.tls(.noCommonProtocol)))
        }
    }

    // C-118
    @Test("a request with the application protocol of frames -> the handler gets it")
    func named() async throws {
        try await onLoop { loop in
            let found = Self.detect("martlet/1", Array("GET / HTTP".utf8), cut: 3, on: loop)
            #expect(!found.isWebSocket && found.handler.received == Array("GET / HTTP".utf8))
        }
    }

    @Test("a transport without a byte -> the handler writes, and gets its end")
    func silent() async throws {
        try await onLoop { loop in
            let found = Self.detect(nil, [], cut: 0, on: loop)
            found.handler.outgoing = [1]
            #expect(found.lower.take() == [1])
            found.lower.giveEnd()
            found.lower.didClose(.endOfStream)
            #expect(found.handler.endCount == 1 && found.handler.reason == .endOfStream)
        }
    }
}
