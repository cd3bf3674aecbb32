import MartletWire
import Testing

@testable import MartletHTTP

@Suite struct HTTPRequestParserTests {
    private static func parse(_ text: String, inPieces size: Int = .max) throws -> [HTTPRequest] {
        var parser = HTTPRequestParser()
        var requests: [HTTPRequest] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            parser.receive(piece.rawBytes)
            while let request = try parser.next() { requests.append(request) }
        }
        return requests
    }

    private static func fault(_ text: String) -> HTTPFault? {
        do {
            _ = try parse(text)
            return nil
        } catch { return error as? HTTPFault }
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `three requests in pieces of any size → method, path, fields and contents of each`(_ size: Int) throws {
        let text =
            "GET /a%20b?x=1&y=%C3%A4+z&%4f%4F&flag HTTP/1.1\r\nHost: relay\r\nX-One:  two \t\r\nx-one: three\r\n\r\n"
            + "\r\nPOST /p HTTP/1.1\r\nhost: r\r\ncontent-length: 5\r\nConnection: Close\r\n\r\nhello"
            + "OPTIONS * HTTP/1.0\r\n\r\n"
        let requests = try Self.parse(text, inPieces: size)
        #expect(requests.map(\.method) == ["GET", "POST", "OPTIONS"])
        #expect(requests.map(\.path) == ["/a%20b", "/p", "*"])
        #expect(requests[0]["x-one"] == "two, three")
        #expect(requests[0]["host"] == "relay")
        #expect(requests.map(\.body) == [[], Array("hello".utf8), []])
        #expect(requests.map(\.closesConnection) == [false, true, true])
    }

    @Test func `a target in absolute form → its path`() throws {
        #expect(try Self.parse("GET http://relay:1/x?y HTTP/1.1\r\nHost: r\r\n\r\n").map(\.path) == ["/x"])
        #expect(try Self.parse("GET HTTP://relay HTTP/1.1\r\nHost: r\r\n\r\n").map(\.path) == ["/"])
        let request = try Self.parse("GET http://relay?x=/y HTTP/1.1\r\nHost: r\r\n\r\n").first
        #expect(request?.path == "/" && request?.query == "?x=/y" && request?.host == "relay")
    }

    // C-119
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: R:80", "R:80"), ("GET http://a:1/ HTTP/1.1\r\nHost: b", "a:1"),
        ("GET / HTTP/1.1\r\nHost: [::1]:80", "[::1]:80"), ("GET / HTTP/1.1\r\nHost:", ""), ("GET / HTTP/1.0", ""),
        ("GET / HTTP/1.1\r\nHost: a_b.%41:", "a_b.%41:"),
    ])
    func `a host in the target or the field → the host of the request`(_ head: String, _ host: String) throws {
        #expect(try Self.parse(head + "\r\n\r\n").map(\.host) == [host])
    }

    // C-119
    @Test func `HTTP/1.2 → a request of HTTP/1.1`() throws {
        let requests = try Self.parse("GET / HTTP/1.2\r\nHost: r\r\n\r\nGET / HTTP/1.9\r\nHost: r\r\n\r\n")
        #expect(requests.map(\.minorVersion) == [1, 1] && requests.allSatisfy { !$0.closesConnection })
    }

    // C-119
    @Test(arguments: [("HEAD", true), ("GET", false), ("HEADX", false)])
    func `a fault of a request → whether the method is HEAD`(_ method: String, _ isHead: Bool) throws {
        var parser = HTTPRequestParser()
        parser.receive(Array("\(method) / HTTP/1.1\r\n\r\n".utf8).rawBytes)
        for _ in 0..<2 {
            #expect(Result { () throws(HTTPFault) in try parser.next() } == .failure(.malformed))
            #expect(parser.isFaultOfHead == isHead)
        }
    }

    @Test(arguments: [
        "\u{16}\u{3}\u{1}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1 x\r\nHost: r\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: r\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: r\r\n\r\n", "G(T / HTTP/1.1\r\nHost: r\r\n\r\n", "GET x HTTP/1.1\r\nHost: r\r\n\r\n",
        "GET /#x HTTP/1.1\r\nHost: r\r\n\r\n", "GET /\u{1}x HTTP/1.1\r\nHost: r\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\nHost: r\r\n\r\n", "GET / HTTP/1.1\r\nHost: r\r\nX : y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\n folded\r\n\r\n", "GET / HTTP/1.1\r\nHost: r\r\nX: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\nX: a\u{0}b\r\n\r\n", "GET / HTTP/1.1\nHost: r\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\n: y\r\n\r\n", "GET / HTTP/1.1\r\nHost: r\r\nXy\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\nContent-Length:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / http/1.1\r\nHost: r\r\n\r\n", "GET / HTTP/1.1\r\nHost: r\r\nX: a\u{7F}b\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: r\r\nHost: r\r\n\r\n", "GET / HTTP/1.x\r\nHost: r\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "GET / HTTP/1.1\r\nHost: u@r\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r/x\r\n\r\n", "GET / HTTP/1.1\r\nHost: r:x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: r:65536\r\n\r\n", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [r]\r\n\r\n", "GET / HTTP/1.1\r\nHost: ü\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a b\r\n\r\n", "GET http:///x HTTP/1.1\r\nHost: r\r\n\r\n",
        "GET http://:80/x HTTP/1.1\r\nHost: r\r\n\r\n", "GET http://u@r/x HTTP/1.1\r\nHost: r\r\n\r\n",
    ])
    func `bytes that are no request → malformed`(_ text: String) {
        #expect(Self.fault(text) == .malformed)
    }

    private static let head = "GET / HTTP/1.1\r\nHost: r\r\n"
    private static let long = String(repeating: "x", count: 16 << 10)
    private static let refused: [(String, HTTPFault)] = [
        ("GET / HTTP/2.0\r\nHost: r\r\n\r\n", .unsupportedVersion),
        ("\(head)Transfer-Encoding: chunked\r\n\r\n", .lengthRequired),
        ("\(head)Content-Length: 65537\r\n\r\n", .contentTooLarge),
        ("\(head)Content-Length: 99999999999999999999\r\n\r\n", .contentTooLarge),
        ("\(head)Expect: x\r\n\r\n", .expectationFailed),
        ("\(head)\(String(repeating: "a: b\r\n", count: 100))\r\n", .headTooLarge),
        ("GET /\(long)", .headTooLarge),
        ("\(head)X: \(long)\r\n\r\n", .headTooLarge),
    ]

    @Test(arguments: refused)
    func `a request beyond what the server takes → the fault with its status`(_ text: String, _ fault: HTTPFault) {
        #expect(Self.fault(text) == fault)
    }

    @Test func `100 fields and contents of 65,536 bytes → a request`() throws {
        let fields = String(repeating: "a: b\r\n", count: 98)
        let text = "POST / HTTP/1.1\r\nHost: r\r\nContent-Length: 65536\r\n\(fields)\r\n"
        let requests = try Self.parse(text + String(repeating: "x", count: 65536), inPieces: 4096)
        #expect(requests.map(\.body.count) == [65536])
    }

    @Test func `a fault → later bytes are discarded, and the fault is repeated`() {
        var parser = HTTPRequestParser()
        for text in ["bad\r\n\r\n", "GET / HTTP/1.1\r\nHost: r\r\n\r\n"] {
            parser.receive(Array(text.utf8).rawBytes)
            let result = Result { () throws(HTTPFault) in try parser.next() }
            #expect(result == .failure(.malformed))
            #expect(parser.bufferedByteCount == 0)
        }
    }

    @Test func `an expected 100-continue → reported once while the content is missing`() throws {
        var parser = HTTPRequestParser()
        let head = "POST / HTTP/1.1\r\nHost: r\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        parser.receive(Array(head.utf8).rawBytes)
        let early = try parser.next()
        let expectations = [parser.takeExpectation(), parser.takeExpectation()]
        parser.receive(Array("hi".utf8).rawBytes)
        let request = try parser.next()
        #expect(early == nil)
        #expect(expectations == [true, false])
        #expect(request?.body == Array("hi".utf8))
    }

    @Test func `a thousand requests in one piece → all, in order`() throws {
        let text = (0..<1000).map { "GET /\($0) HTTP/1.1\r\nHost: r\r\n\r\n" }.joined()
        #expect(try Self.parse(text).map(\.path) == (0..<1000).map { "/\($0)" })
    }

    @Test func `a head of 16,384 bytes → a request; without its end, or with a byte more → headTooLarge`() throws {
        let field = "X: " + String(repeating: "x", count: (16 << 10) - Self.head.utf8.count - 7)
        let text = "\(Self.head)\(field)\r\n\r\n"
        #expect(text.utf8.count == 16 << 10)
        #expect(try Self.parse(text).count == 1)
        #expect(Self.fault("\(Self.head)\(field)x\r\n\r\n") == .headTooLarge)
        #expect(Self.fault("\(Self.head)\(field)xxxx") == .headTooLarge)
        #expect(Self.fault("\(Self.head)\(field)xxx") == nil)
    }

    @Test(arguments: [
        ("1.0", "keep-alive", false), ("1.0", "x, Keep-Alive ", false), ("1.0", "keep-alive, close", true),
        ("1.0", "x", true), ("1.1", "keep-alive", false), ("1.1", "x,\tCLOSE", true),
    ])
    func `a version and the field Connection → whether the connection ends`(
        _ version: String, _ options: String, _ closes: Bool
    ) throws {
        let text = "GET / HTTP/\(version)\r\nHost: r\r\nConnection: \(options)\r\n\r\n"
        #expect(try Self.parse(text).map(\.closesConnection) == [closes])
    }
}
