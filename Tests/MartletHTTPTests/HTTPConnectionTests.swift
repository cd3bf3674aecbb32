import MartletWire
import Testing

@testable import MartletHTTP

@Suite struct HTTPConnectionTests {
    private final class Script {
        var connection = HTTPConnection()

        func next() -> HTTPRequest? { connection.nextRequest() }

        func beginStream(_ response: HTTPResponse) -> Bool { connection.beginStream(response) }

        func timedOut() -> Bool { connection.timedOut() }

        func receive(_ text: String) { connection.receive(Array(text.utf8).rawBytes) }

        func sent() -> String {
            var text: [UInt8] = []
            while connection.unsentByteCount > 0 {
                text += [UInt8](capacity: 4096) { _ = connection.transmit(into: &$0) }
            }
            return String(decoding: text, as: UTF8.self)
        }
    }

    private static let get = "GET / HTTP/1.1\r\nHost: r\r\n\r\n"

    @Test func `two requests at once → the second after the response to the first`() {
        let script = Script()
        script.receive(Self.get + "GET /2 HTTP/1.1\r\nHost: r\r\n\r\n")
        #expect(script.next()?.path == "/")
        #expect(script.next() == nil)
        script.connection.respond(HTTPResponse(text: "one"))
        #expect(
            script.sent()
                == "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 3\r\n\r\none")
        #expect(script.next()?.path == "/2")
        #expect(!script.connection.isEnding)
    }

    @Test func `HEAD → the fields of the response without its content`() {
        let script = Script()
        script.receive("HEAD / HTTP/1.1\r\nHost: r\r\n\r\n")
        _ = script.next()
        script.connection.respond(HTTPResponse(.ok, body: [1, 2, 3]))
        #expect(script.sent() == "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n")
    }

    @Test func `a request that closes → the connection ends after the response`() {
        let script = Script()
        script.receive("GET / HTTP/1.0\r\n\r\n")
        _ = script.next()
        script.connection.respond(HTTPResponse(.noContent))
        #expect(script.sent() == "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        #expect(script.connection.isEnding)
    }

    @Test func `a fault → its status, and the connection ends`() {
        let script = Script()
        script.receive("GET / HTTP/3.0\r\n\r\n")
        #expect(script.next() == nil)
        #expect(script.sent().hasPrefix("HTTP/1.1 505 HTTP Version Not Supported\r\n"))
        #expect(script.connection.isEnding)
    }

    @Test func `an end of the peer behind a request → the response is sent, then the connection ends`() {
        let script = Script()
        script.receive(Self.get)
        _ = script.next()
        script.connection.receiveEnd()
        #expect(!script.connection.isEnding)
        script.connection.respond(HTTPResponse(.ok))
        #expect(script.sent().contains("connection: close"))
        #expect(script.connection.isEnding)
    }

    @Test func `an end of the peer without a request → the connection ends`() {
        let script = Script()
        script.connection.receiveEnd()
        #expect(script.connection.isEnding)
    }

    @Test func `a stream → its events, until the peer ends`() {
        let script = Script()
        script.receive(Self.get)
        _ = script.next()
        #expect(script.beginStream(HTTPResponse(.ok, [HTTPField("content-type", "text/event-stream")])))
        script.connection.send(ServerSentEvent(id: 7, type: "sample", data: "a\nb").bytes)
        #expect(
            script.sent()
                == "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
                + "event: sample\nid: 7\ndata: a\ndata: b\n\n")
        #expect(script.connection.timeout == nil)
        script.connection.receiveEnd()
        #expect(script.connection.isEnding)
    }

    @Test func `a stream whose peer does not read → ends at 1 MiB, and takes no more`() {
        let script = Script()
        script.receive(Self.get)
        _ = script.next()
        #expect(script.beginStream(HTTPResponse(.ok)))
        for _ in 0..<1100 { script.connection.send(Array(repeating: 1, count: 1024)) }
        #expect(script.connection.isEnding)
        #expect(script.connection.unsentByteCount <= HTTPConnection.maxStreamByteCount)
    }

    @Test func `HEAD of a stream → no stream`() {
        let script = Script()
        script.receive("HEAD / HTTP/1.1\r\nHost: r\r\n\r\n")
        _ = script.next()
        #expect(!script.beginStream(HTTPResponse(.ok)))
        #expect(script.connection.isEnding)
    }

    @Test func `silence → 408 in the middle of a request, and the end of an idle connection`() {
        let script = Script()
        #expect(script.connection.timeout?.seconds == 60)
        script.receive("GET /")
        #expect(script.connection.timeout?.seconds == 10)
        #expect(!script.timedOut())
        #expect(script.sent().hasPrefix("HTTP/1.1 408 Request Timeout"))
        #expect(script.connection.isEnding)
        #expect(script.timedOut())
        let idle = Script()
        #expect(!idle.timedOut())
        #expect(idle.connection.isEnding && idle.connection.unsentByteCount == 0)
    }

    @Test func `a response in progress → no timeout, and reading pauses when a head waits behind it`() {
        let script = Script()
        script.receive(Self.get)
        _ = script.next()
        #expect(script.connection.timeout == nil)
        #expect(!script.connection.isReadingPaused)
        script.receive(String(repeating: "x", count: 16 << 10))
        #expect(script.connection.isReadingPaused)
    }

    @Test func `an expected 100-continue → the interim response before the content`() {
        let script = Script()
        script.receive("POST / HTTP/1.1\r\nHost: r\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(script.next() == nil)
        #expect(script.sent() == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(script.connection.timeout?.seconds == HTTPConnection.requestTimeout)
        script.receive("hi")
        #expect(script.next()?.body == Array("hi".utf8))
    }

    @Test func `a request byte by byte → the duration of its first byte continues`() {
        let script = Script()
        script.receive("G")
        let first = script.connection.timeout
        #expect(first?.seconds == HTTPConnection.requestTimeout)
        for character in Self.get.dropFirst().dropLast() {
            script.receive(String(character))
            #expect(script.next() == nil)
            #expect(script.connection.timeout == first)
        }
    }

    @Test func `responses that the peer does not read → its next request waits, and reading pauses`() {
        let script = Script()
        script.receive(Self.get + Self.get)
        _ = script.next()
        script.connection.respond(HTTPResponse(.ok, body: Array(repeating: 1, count: 64 << 10)))
        #expect(script.next() == nil)
        #expect(script.connection.isReadingPaused)
        #expect(script.connection.timeout?.seconds == HTTPConnection.idleTimeout)
        #expect(script.timedOut())
        _ = script.sent()
        #expect(!script.connection.isReadingPaused)
        #expect(script.next() != nil)
    }

    @Test func `unsent bytes of a stream → the duration begins again with sent bytes, and not with further events`() {
        let script = Script()
        script.receive(Self.get)
        _ = script.next()
        #expect(script.beginStream(HTTPResponse(.ok)))
        let first = script.connection.timeout
        #expect(first?.seconds == HTTPConnection.idleTimeout)
        script.connection.send([1, 2])
        #expect(script.connection.timeout == first)
        _ = [UInt8](capacity: 1) { _ = script.connection.transmit(into: &$0) }
        #expect(script.connection.timeout != first)
        _ = script.sent()
        #expect(script.connection.timeout == nil)
    }

    @Test func `an end of the peer behind two requests → both responses, then the connection ends`() {
        let script = Script()
        script.receive(Self.get + Self.get)
        _ = script.next()
        script.connection.receiveEnd()
        script.connection.respond(HTTPResponse(.ok))
        #expect(!script.connection.isEnding)
        #expect(script.next() != nil)
        script.connection.respond(HTTPResponse(.ok))
        #expect(script.connection.isEnding)
        #expect(script.sent().split(separator: "\r\n").count { $0 == "HTTP/1.1 200 OK" } == 2)
    }

    @Test func `an end of the peer behind the request of a stream → no stream`() {
        let script = Script()
        script.receive(Self.get)
        _ = script.next()
        script.connection.receiveEnd()
        #expect(!script.beginStream(HTTPResponse(.ok)))
        #expect(script.connection.isEnding)
    }

    @Test func `an expected 100-continue of HTTP/1.0 → no interim response`() {
        let script = Script()
        script.receive("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(script.next() == nil)
        #expect(script.sent() == "")
    }

    @Test func `unsent responses of 64 KiB → the next request is taken`() {
        let script = Script()
        script.receive(Self.get + Self.get)
        _ = script.next()
        let head = HTTPResponse(.ok, body: Array(repeating: 1, count: 60_000)).bytes(isHead: true, closes: false)
        let count = HTTPConnection.maxUnsentByteCount - head.count
        script.connection.respond(HTTPResponse(.ok, body: Array(repeating: 1, count: count)))
        #expect(script.connection.unsentByteCount == HTTPConnection.maxUnsentByteCount)
        #expect(!script.connection.isReadingPaused)
        #expect(script.next() != nil)
    }

    @Test func `1 MiB of a stream unsent → the stream continues; a byte more → it ends`() {
        let script = Script()
        script.receive(Self.get)
        _ = script.next()
        #expect(script.beginStream(HTTPResponse(.ok)))
        _ = script.sent()
        script.connection.send(Array(repeating: 1, count: HTTPConnection.maxStreamByteCount))
        #expect(script.connection.isStreaming)
        script.connection.send([1])
        #expect(script.connection.isEnding)
    }
}
