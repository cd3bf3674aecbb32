import MartletHTTP
import MartletTransport
import MartletWire
import Testing

@testable import MartletWebSocket

@Suite("The upgrade to a WebSocket")
struct WebSocketUpgradeTests {
    /// The result of a request.
    enum Answer: Equatable, Sendable {
        case incomplete
        case accepted(rest: String, client: String?)
        case answered
        case refused(UInt16)
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let request: [UInt8]
        let answer: Answer

        init(_ name: String, _ request: String, _ answer: Answer) {
            (testDescription, self.request, self.answer) = (name, Array(request.utf8), answer)
        }
    }

    private static let fields = [
        "Host: chat.example.com", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: martlet",
    ]

    /// A request whose fields with one of these names are replaced, or removed by an empty text.
    private static func request(
        _ line: String = "GET /martlet HTTP/1.1", _ changes: [String] = [], without removed: [String] = [],
        rest: String = ""
    ) -> String {
        let names = (changes + removed).map { $0.prefix { $0 != ":" }.lowercased() }
        let kept = fields.filter { !names.contains($0.prefix { $0 != ":" }.lowercased()) }
        return ([line] + kept + changes).map { $0 + "\r\n" }.joined() + "\r\n" + rest
    }

    private static let accepted = Answer.accepted(rest: "", client: nil)

    static let cases = [
        Case("the request of a client", request(), accepted),
        Case(
            "bytes behind the request", request(rest: "\u{1}\u{2}GET / HTTP/1.1\r\n"),
            .accepted(
                rest: "\u{1}\u{2}GET / HTTP/1.1\r\n", client: nil)),
        Case("a query", request("GET /martlet?token=1 HTTP/1.1"), accepted),
        Case(
            "names and tokens in other cases", request(changes("uPGRADE: WebSocket", "CONNECTION: uPgRaDe")), accepted),
        Case("a list in Connection", request(changes("Connection: keep-alive, Upgrade")), accepted),
        Case("two lines of Connection", request(changes("Connection: keep-alive", "Connection: Upgrade")), accepted),
        Case("a list in Upgrade", request(changes("Upgrade: h2c, websocket")), accepted),
        Case("an offered extension", request(changes("Sec-WebSocket-Extensions: permessage-deflate")), accepted),
        Case("several subprotocols", request(changes("Sec-WebSocket-Protocol: mqtt, martlet")), accepted),
        Case("spaces around values", request(changes("Sec-WebSocket-Version: \t 13 \t")), accepted),
        Case("a target in absolute form", request("GET http://chat.example.com/martlet HTTP/1.1"), accepted),
        Case("half a request", "GET /martlet HTTP/1.1\r\nHost: a\r\n", .incomplete),
        Case("nothing", "", .incomplete),
        Case("another path", request("GET / HTTP/1.1"), .refused(404)),
        Case("a longer path", request("GET /martlet/ HTTP/1.1"), .refused(404)),
        Case("a plain request of another path", "GET /index.html HTTP/1.1\r\nHost: a\r\n\r\n", .refused(404)),
        Case("a plain request of the path", "GET /martlet HTTP/1.1\r\nHost: a\r\n\r\n", .refused(400)),
        Case("another method", request("POST /martlet HTTP/1.1"), .refused(405)),
        Case("the method HEAD", request("HEAD /martlet HTTP/1.1"), .refused(405)),
        Case("HTTP/1.0", request("GET /martlet HTTP/1.0"), .refused(400)),
        Case("HTTP/2.0", request("GET /martlet HTTP/2.0"), .refused(505)),
        Case("no Host", request(without: ["host"]), .refused(400)),
        Case("two of Host", request(changes("Host: a", "Host: b")), .refused(400)),
        Case("no Upgrade", request(without: ["upgrade"]), .refused(400)),
        Case("an upgrade to another protocol", request(changes("Upgrade: h2c")), .refused(400)),
        Case("no Connection", request(without: ["connection"]), .refused(400)),
        Case("Connection without Upgrade", request(changes("Connection: keep-alive")), .refused(400)),
        Case("no key", request(without: ["sec-websocket-key"]), .refused(400)),
        Case(
            "two keys",
            request(
                changes("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")),
            .refused(400)),
        Case("a short key", request(changes("Sec-WebSocket-Key: dGhlIHNhbXBsZQ==")), .refused(400)),
        Case(
            "a key that is not base64", request(changes("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=!")), .refused(400)),
        Case("no version", request(without: ["sec-websocket-version"]), .refused(426)),
        Case("version 8", request(changes("Sec-WebSocket-Version: 8")), .refused(426)),
        Case(
            "two versions",
            request(
                changes("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 8")), .refused(426)),
        Case("a list of versions", request(changes("Sec-WebSocket-Version: 13, 8")), .refused(426)),
        Case("HTTP/1.2", request("GET /martlet HTTP/1.2"), accepted),
        Case("an invalid Host", request(changes("Host: a b")), .refused(400)),
        Case("an empty host in the target", request("GET http:///martlet HTTP/1.1"), .refused(400)),
        Case(
            "an origin of the host of the target",
            request("GET http://a.example/martlet HTTP/1.1", ["Origin: http://a.example"]), accepted),
        Case(
            "an origin of the field Host beside another host in the target",
            request("GET http://a.example/martlet HTTP/1.1", ["Origin: http://chat.example.com"]), .refused(403)),
        Case("no subprotocol", request(without: ["sec-websocket-protocol"]), .refused(400)),
        Case("another subprotocol", request(changes("Sec-WebSocket-Protocol: mqtt")), .refused(400)),
        Case("a subprotocol in another case", request(changes("Sec-WebSocket-Protocol: Martlet")), .refused(400)),
        Case("a content", request(changes("Content-Length: 2"), rest: "ab"), .refused(400)),
        Case("an announced content", request(changes("Content-Length: 2")), .incomplete),
        Case("a content in chunks", request(changes("Transfer-Encoding: chunked")), .refused(411)),
        Case("a folded line", request(changes("X-A: a\r\n folded")), .refused(400)),
        Case("a space before a colon", request(changes("X-A : a")), .refused(400)),
        Case("lines that end with LF", "GET /martlet HTTP/1.1\nHost: a\n\n", .incomplete),
        Case("101 fields", request(changes(many(95 + 1))), .refused(431)),
        Case("100 fields", request(changes(many(94))), accepted),
        Case("a field of 16 KiB", request(changes("X-A: " + String(repeating: "a", count: 16 << 10))), .refused(431)),
        Case("the origin of the host", request(changes("Origin: https://chat.example.com")), accepted),
        Case("the origin of the host in capitals", request(changes("Origin: HTTPS://CHAT.example.com:443")), accepted),
        Case(
            "an origin with the port of the host",
            request(
                changes("Origin: http://chat.example.com:8080", "Host: chat.example.com:8080")), accepted),
        Case("an origin with another port", request(changes("Origin: https://chat.example.com:8443")), .refused(403)),
        Case("another origin", request(changes("Origin: https://evil.example.com")), .refused(403)),
        Case("the origin null", request(changes("Origin: null")), .refused(403)),
        Case(
            "two origins",
            request(
                changes("Origin: https://chat.example.com", "Origin: https://chat.example.com")), .refused(400)),
        Case("a stated address of a peer that is no proxy", request(changes("X-Forwarded-For: 192.0.2.1")), accepted),
    ]

    private static func changes(_ lines: String...) -> [String] { lines }
    private static func changes(_ lines: [String]) -> [String] { lines }
    private static func many(_ count: Int) -> [String] { (0..<count).map { "X-\($0): a" } }
    private static func request(_ changes: [String], rest: String = "") -> String {
        request("GET /martlet HTTP/1.1", changes, rest: rest)
    }

    /// Every place at which bytes can be cut; of long ones some of the places.
    private static func cuts(of bytes: [UInt8]) -> [Int] {
        Array(stride(from: 0, to: bytes.count, by: bytes.count > 4_096 ? 997 : 1)) + [bytes.count]
    }

    private func answer(
        _ request: [UInt8], cut: Int, options: WebSocketOptions = WebSocketOptions(), isSecure: Bool = false,
        from peer: SocketAddress? = nil
    ) -> (answer: Answer, bytes: [UInt8]) {
        var upgrade = WebSocketServerUpgrade(options, isSecure: isSecure)
        var late: [UInt8] = []
        var result: WebSocketServerUpgrade.Step?
        for part in [request[..<cut], request[cut...]] {
            if result != nil {
                late += part
                continue
            }
            let step = upgrade.receive(part.rawBytes, from: peer)
            if case .incomplete = step { continue }
            result = step
        }
        switch result {
        case nil, .incomplete: return (.incomplete, [])
        case .answered(let bytes, _): return (.answered, bytes)
        case .accepted(let bytes, let rest):
            let client = upgrade.client
            let text = String(decoding: rest + late, as: UTF8.self)
            return (.accepted(rest: text, client: client.map { "\($0.ip)" }), bytes)
        case .refused(.refused(let status), let bytes): return (.refused(status), bytes)
        case .refused(let error, _):
            Issue.record("\(error)")
            return (.incomplete, [])
        }
    }

    // C-119, C-121, Specs/hostile.md row 110
    @Test("a request -> the answer of the case, cut at every byte", arguments: cases)
    func upgrades(_ test: Case) throws {
        for cut in Self.cuts(of: test.request) {
            let (answer, bytes) = answer(test.request, cut: cut)
            #expect(answer == test.answer, "cut at \(cut)")
            guard case .refused(let status) = answer else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 \(status) ") && text.contains("connection: close\r\n"))
            #expect(text.contains("sec-websocket-version: 13\r\n") == (status == 426))
        }
    }

    // C-131
    @Test("the requests of all cases where there are files -> the same answers at the path, responses at others")
    func withFiles() {
        var options = WebSocketOptions()
        options.files = WebFolder(WebFiles([:]))
        for test in Self.cases {
            let (found, bytes) = answer(test.request, cut: 0, options: options)
            if test.answer == .refused(404) {
                #expect(found == .answered && bytes.starts(with: "HTTP/1.1 404 ".utf8), "\(test.testDescription)")
            } else {
                #expect(found == test.answer, "\(test.testDescription)")
            }
        }
    }

    // C-119
    @Test("the request of RFC 6455 §1.3 -> its acceptance, the subprotocol, and no extension")
    func example() {
        let (_, bytes) = answer(Array(Self.request().utf8), cut: 0)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(
            text == "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
                + "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nsec-websocket-protocol: martlet\r\n\r\n")
    }

    // C-119, C-121
    @Test("a path and origins of the options -> those are accepted")
    func chosenOptions() {
        var options = WebSocketOptions()
        options.path = "/chat"
        options.origins = ["https://app.example.com"]
        func status(_ line: String, _ origin: String) -> Answer {
            answer(Array(Self.request(line, ["Origin: \(origin)"]).utf8), cut: 0, options: options).answer
        }
        #expect(status("GET /chat HTTP/1.1", "https://app.example.com") == Self.accepted)
        #expect(status("GET /chat HTTP/1.1", "https://chat.example.com") == Self.accepted)
        #expect(status("GET /chat HTTP/1.1", "http://app.example.com") == .refused(403))
        #expect(status("GET /martlet HTTP/1.1", "https://app.example.com") == .refused(404))
        options.origins = ["*"]
        #expect(status("GET /chat HTTP/1.1", "null") == Self.accepted)
    }

    // C-121
    @Test("a host without a port -> the port 443 with TLS, and that of the origin's scheme without")
    func defaultPorts() {
        func status(_ origin: String, isSecure: Bool) -> Answer {
            let request = Self.request("GET /martlet HTTP/1.1", ["Origin: \(origin)"])
            return answer(Array(request.utf8), cut: 0, isSecure: isSecure).answer
        }
        #expect(status("https://chat.example.com", isSecure: true) == Self.accepted)
        #expect(status("http://chat.example.com", isSecure: true) == .refused(403))
        #expect(status("http://chat.example.com:443", isSecure: true) == Self.accepted)
        #expect(status("http://chat.example.com", isSecure: false) == Self.accepted)
        #expect(status("https://chat.example.com", isSecure: false) == Self.accepted)
    }

    // C-122, Specs/hostile.md row 111
    @Test(
        "fields of proxies -> the latest address that is not one of a proxy; that of the proxy if it is hidden",
        arguments: [
            (["X-Forwarded-For: 192.0.2.7"], "192.0.2.7"),
            (["X-Forwarded-For: 203.0.113.9, 192.0.2.7"], "192.0.2.7"),
            (["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 192.0.2.7, 10.0.0.2"], "192.0.2.7"),
            (["X-Forwarded-For: 2001:db8::7"], "2001:db8::7"),
            (["X-Forwarded-For: 192.0.2.7:4711"], "192.0.2.7"), (["X-Forwarded-For: [2001:db8::7]:9"], "2001:db8::7"),
            (["X-Forwarded-For: ::ffff:192.0.2.7"], "192.0.2.7"),
            (["X-Forwarded-For: 192.0.2.7, ::ffff:10.0.0.2"], "192.0.2.7"),
            // Proxies pass the other field on as the client sent it.
            (["Forwarded: for=6.6.6.6", "X-Forwarded-For: 192.0.2.7"], "192.0.2.7"), (["Forwarded: for=6.6.6.6"], nil),
            (["X-Forwarded-For: [2001:db8::7]x"], nil), (["X-Forwarded-For: 192.0.2.7:abc"], nil),
            (["X-Forwarded-For: 192.0.2.7:"], nil), (["X-Forwarded-For: 192.0.2.7:99999"], nil),
            (["X-Forwarded-For: fe80::1%1"], nil), (["X-Forwarded-For: unknown"], nil),
            (["X-Forwarded-For: 999.1.1.1"], nil), (["X-Forwarded-For: "], nil),
            (["X-Forwarded-For: 10.0.0.2"], nil), ([], nil),
        ])
    func forwarded(_ fields: [String], _ client: String?) throws {
        var options = WebSocketOptions()
        options.forwarders = [try #require(IPNetwork("10.0.0.0/8"))]
        let request = Array(Self.request("GET /martlet HTTP/1.1", fields).utf8)
        let proxy = try #require(SocketAddress("10.0.0.1:5000"))
        let other = try #require(SocketAddress("172.16.0.1:5000"))
        #expect(answer(request, cut: 0, options: options, from: proxy).answer == .accepted(rest: "", client: client))
        #expect(answer(request, cut: 0, options: options, from: other).answer == Self.accepted)
    }

    // C-122, C-131
    @Test("requests of a named proxy that are no upgrade -> the address of its client, of files and refusals too")
    func forwardedRequests() throws {
        var options = WebSocketOptions()
        options.forwarders = [try #require(IPNetwork("10.0.0.0/8"))]
        for files in [nil, WebFolder(WebFiles(["a": []]))] {
            options.files = files
            for path in ["/a", "/none", "/martlet"] {
                var upgrade = WebSocketServerUpgrade(options, isSecure: false)
                let request = "GET \(path) HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n"
                _ = upgrade.receive(Array(request.utf8).rawBytes, from: SocketAddress("10.0.0.1:5000"))
                #expect(upgrade.client?.ip == IPAddress("192.0.2.7"))
            }
        }
    }

    // C-121, Specs/hostile.md row 134
    @Test(
        "a page at a host that is not this machine, from a loopback address -> 403 unless it is listed or has TLS",
        arguments: [
            ("evil.example:7361", "127.0.0.1:5000", false, 403), ("evil.example:7361", "[::1]:5000", false, 403),
            ("evil.example:7361", "127.0.0.1:5000", true, 101), ("evil.example:7361", "192.0.2.1:5000", false, 101),
            ("evil.example:7361", "127.0.0.9:5000", false, 101), ("listed.example", "127.0.0.1:5000", false, 101),
            ("localhost:7361", "127.0.0.1:5000", false, 101), ("127.0.0.1:7361", "127.0.0.1:5000", false, 101),
            ("[::1]:7361", "[::1]:5000", false, 101), ("localhost.example", "127.0.0.1:5000", false, 403),
        ] as [(String, String, Bool, UInt16)])
    func rebinding(_ host: String, _ peer: String, _ isSecure: Bool, _ status: UInt16) throws {
        var options = WebSocketOptions()
        options.forwarders = [try #require(IPNetwork("127.0.0.9"))]
        options.origins = ["http://listed.example"]
        let origin = "Origin: \(isSecure ? "https" : "http")://\(host)"
        let request = Array(Self.request("GET /martlet HTTP/1.1", ["Host: \(host)", origin]).utf8)
        let found = answer(
            request, cut: 0, options: options, isSecure: isSecure, from: SocketAddress(peer))
        #expect(found.bytes.starts(with: "HTTP/1.1 \(status) ".utf8))
    }

    @Test("options with a path that is no path, or an origin that is none -> their fault")
    func faults() {
        var options = WebSocketOptions()
        #expect(options.fault == nil)
        for path in ["", "martlet", "/a b", "/a?b", "/a#b", "/ä"] {
            options.path = path
            #expect(options.fault != nil)
        }
        options.path = "/"
        options.origins = ["*", "http://localhost:8080", "app://martlet"]
        #expect(options.fault == nil)
        for origin in [
            "", "null", "chat.example.com", "https://", "https://a/b", "https://ü.example", "https://*.example",
            "https://*", "https://a%62", "https://u@a", "https://a:b", "https://a:65536",
        ] {
            options.origins = [origin]
            #expect(options.fault != nil)
        }
    }

    // MARK: - The client

    private static let nonce = Array("the sample nonce".utf8)

    private static let valid = [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        "Sec-WebSocket-Protocol: martlet",
    ]

    private static func response(
        _ line: String = "HTTP/1.1 101 Switching Protocols", _ changes: [String] = [], without removed: [String] = []
    ) -> String {
        let names = (changes + removed).map { $0.prefix { $0 != ":" }.lowercased() }
        let kept = valid.filter { !names.contains($0.prefix { $0 != ":" }.lowercased()) }
        return ([line] + kept + changes).map { $0 + "\r\n" }.joined() + "\r\n"
    }

    struct ResponseCase: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let response: [UInt8]
        /// Nil for an answer that accepts.
        let error: WebSocketError?

        init(_ name: String, _ response: String, _ error: WebSocketError?) {
            (testDescription, self.response, self.error) = (name, Array(response.utf8), error)
        }
    }

    static let responses = [
        ResponseCase("the answer of a relay", response(), nil),
        ResponseCase("no phrase", response("HTTP/1.1 101"), nil),
        ResponseCase("another case", response("HTTP/1.1 101 x", ["upgrade: WebSocket", "connection: upgrade"]), nil),
        ResponseCase("further fields", response("HTTP/1.1 101 x", ["Server: nginx", "Date: x"]), nil),
        ResponseCase(
            "interim answers before it",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + response(), nil),
        ResponseCase(
            "an interim answer, 404", "HTTP/1.1 103 x\r\n\r\n" + response("HTTP/1.1 404 x"), .refused(status: 404)),
        ResponseCase("an interim answer without a version", "HTTP/1.1 103 x\r\n\r\nx\r\n\r\n", .invalidResponse),
        ResponseCase(
            "interim answers without end", String(repeating: "HTTP/1.1 100 x\r\n\r\n", count: 1_000), .invalidResponse),
        ResponseCase("404", response("HTTP/1.1 404 Not Found"), .refused(status: 404)),
        ResponseCase("200", response("HTTP/1.1 200 OK"), .refused(status: 200)),
        ResponseCase(
            "502 of a proxy", "HTTP/1.1 502 Bad Gateway\r\nServer: nginx\r\n\r\n<html>", .refused(status: 502)),
        ResponseCase("no subprotocol", response(without: ["sec-websocket-protocol"]), .invalidResponse),
        ResponseCase(
            "another subprotocol", response("HTTP/1.1 101 x", ["Sec-WebSocket-Protocol: mqtt"]), .invalidResponse),
        ResponseCase("no acceptance", response(without: ["sec-websocket-accept"]), .invalidResponse),
        ResponseCase(
            "the acceptance of another key",
            response("HTTP/1.1 101 x", ["Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp="]), .invalidResponse),
        ResponseCase(
            "two acceptances",
            response(
                "HTTP/1.1 101 x",
                [
                    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
                    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
                ]), .invalidResponse),
        ResponseCase("no Upgrade", response(without: ["upgrade"]), .invalidResponse),
        ResponseCase("no Connection", response(without: ["connection"]), .invalidResponse),
        ResponseCase(
            "an extension", response("HTTP/1.1 101 x", ["Sec-WebSocket-Extensions: permessage-deflate"]),
            .invalidResponse),
        ResponseCase("HTTP/1.0", response("HTTP/1.0 101 x"), .invalidResponse),
        ResponseCase("no status", response("HTTP/1.1 1x1 x"), .invalidResponse),
        ResponseCase("frames in place of HTTP", "\u{1}\u{2}\r\n\r\n", .invalidResponse),
        ResponseCase("lines that end with LF", "HTTP/1.1 101 x\nUpgrade: websocket\r\n\r\n", .invalidResponse),
        ResponseCase(
            "16 KiB without an end", "HTTP/1.1 101 x\r\nX: " + String(repeating: "a", count: 16 << 10),
            .invalidResponse),
    ]

    // C-119, Specs/hostile.md row 113
    @Test("an answer -> the outcome of the case, cut at every byte", arguments: responses)
    func answers(_ test: ResponseCase) throws {
        let endpoint = try Endpoint(parsing: "ws://chat.example.com")
        for cut in Self.cuts(of: test.response) {
            var upgrade = WebSocketClientUpgrade(to: endpoint, nonce: Self.nonce)
            let (first, second) = (Array(test.response[..<cut]), test.response[cut...] + [0x82])
            var step = upgrade.receive(first.rawBytes)
            var received = cut
            if step == .incomplete {
                step = upgrade.receive(second.rawBytes)
                received = test.response.count - cut
            }
            if let error = test.error {
                #expect(step == .failed(error))
            } else {
                #expect(step == .accepted(byteCount: received))
            }
        }
    }

    // C-119
    @Test("an address -> the request, which the server accepts")
    func clientRequest() throws {
        let endpoint = try Endpoint(parsing: "wss://[2001:db8::1]:8443/martlet?a=b")
        let upgrade = WebSocketClientUpgrade(to: endpoint, nonce: Self.nonce)
        let text = String(decoding: upgrade.request, as: UTF8.self)
        #expect(text.hasPrefix("GET /martlet?a=b HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\n"))
        #expect(text.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
        #expect(!text.contains("Extensions") && !text.contains("Origin"))
        #expect(answer(upgrade.request, cut: 0).answer == Self.accepted)
    }
}
