import MartletTransport
import MartletWire
import Testing

@testable import MartletProxy

/// Answers of proxies (C-128, Specs/hostile.md row 125).
@Suite("CONNECT of HTTP")
struct HTTPConnectHandshakeTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let answer: [UInt8]
        let step: ProxyHandshake.Step

        init(_ answer: String, _ step: ProxyHandshake.Step) {
            testDescription = String(answer.prefix(60))
            (self.answer, self.step) = (Array(answer.utf8), step)
        }
    }

    private static let endpoint = try! Endpoint(parsing: "wss://chat.example")
    private static let nonce = [UInt8](repeating: 0x0C, count: 16)

    private static func handshake(_ proxy: String = "http://proxy.example") throws -> ProxyHandshake {
        ProxyHandshake(through: try ProxyAddress(proxy), to: endpoint, nonce: nonce)
    }

    /// The result of bytes that arrive in two parts, the rest of the first one included.
    private static func receive(
        _ bytes: [UInt8], cutAt cut: Int, by handshake: inout ProxyHandshake
    ) -> ProxyHandshake.Step {
        let first = handshake.receive(bytes.rawBytes.extracting(0..<cut))
        guard first == .incomplete else { return first }
        let second = handshake.receive(bytes.rawBytes.extracting(cut..<bytes.count))
        if case .connected(let byteCount) = second { return .connected(byteCount: byteCount + cut) }
        return second
    }

    private static func text(_ step: ProxyHandshake.Step) -> String? {
        if case .send(let bytes) = step { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    // C-128
    @Test func `a start → a request with the host and the port, without credentials`() throws {
        var handshake = try Self.handshake("http://ann:secret@proxy.example")
        let request = "CONNECT chat.example:443 HTTP/1.1\r\nHost: chat.example:443\r\n\r\n"
        #expect(String(decoding: handshake.start(), as: UTF8.self) == request)
    }

    // C-128
    @Test(arguments: [
        Case("HTTP/1.1 200 OK\r\n\r\n", .connected(byteCount: 19)),
        Case("HTTP/1.0 200 Connection established\r\n\r\n", .connected(byteCount: 39)),
        Case("HTTP/1.1 204\r\nContent-Length: 9\r\n\r\nrest", .connected(byteCount: 35)),
        Case("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", .connected(byteCount: 41)),
        Case("HTTP/1.1 403 Filtered\r\n\r\n", .failed(.refused(status: 403, reason: "Filtered"))),
        Case("HTTP/1.1 502 \u{1B}[31mé\r\n\r\n", .failed(.refused(status: 502, reason: "[31m"))),
        Case(
            "HTTP/1.1 503 \(String(repeating: "x", count: 500))\r\n\r\n",
            .failed(.refused(status: 503, reason: String(repeating: "x", count: 64)))),
        Case("HTTP/1.1 407 Sign in\r\n\r\n", .failed(.authenticationRequired)),
        Case(
            "HTTP/1.1 302 Found\r\nLocation: http://u:p@login.example:80/x?y\r\n\r\n",
            .failed(.redirected(status: 302, host: "login.example"))),
        Case("HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", .failed(.redirected(status: 302, host: nil))),
        Case("HTTP/1.1 302 Found\r\nLocation: http://a b/\r\n\r\n", .failed(.redirected(status: 302, host: nil))),
        Case("HTTP/1.1 511 Sign in\r\n\r\n", .failed(.redirected(status: 511, host: nil))),
        Case("HTTP/1.1 101 Switch\r\n\r\n", .failed(.invalidResponse)),
        Case("HTTP/2 200\r\n\r\n", .failed(.invalidResponse)),
        Case("HTTP/1.2 200 OK\r\n\r\n", .connected(byteCount: 19)),
        Case("HTTP/1.1 20 OK\r\n\r\n", .failed(.invalidResponse)),
        Case("HTTP/1.1 200 OK\r\nA\u{0}: b\r\n\r\n", .failed(.invalidResponse)),
        Case("HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", .failed(.invalidResponse)),
        Case("\r\n\r\n", .failed(.invalidResponse)),
        Case("SSH-2.0-server\r\n\r\n", .failed(.invalidResponse)),
        Case("HTTP/1.1 200 OK\r\n", .incomplete),
    ])
    func `an answer, cut at each byte → its result`(_ each: Case) throws {
        for cut in 0...each.answer.count {
            var handshake = try Self.handshake()
            _ = handshake.start()
            #expect(Self.receive(each.answer, cutAt: cut, by: &handshake) == each.step)
        }
    }

    // C-128
    @Test func `a head or interim answers without end → a failure at the bound`() throws {
        for part in ["x", "HTTP/1.1 100 Continue\r\n\r\n", "\u{0}"] {
            var handshake = try Self.handshake()
            _ = handshake.start()
            var (count, step) = (0, ProxyHandshake.Step.incomplete)
            while step == .incomplete, count <= HTTPConnectHandshake.maxHeadByteCount {
                step = handshake.receive(Array(part.utf8).rawBytes)
                count += part.utf8.count
            }
            #expect(step == .failed(.invalidResponse))
            #expect(count <= HTTPConnectHandshake.maxHeadByteCount + part.utf8.count)
        }
    }

    // C-128
    @Test func `a challenge of Basic with content, cut at each byte → a request with the credentials`() throws {
        let answer = Array(
            "HTTP/1.1 407 Sign in\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 4\r\n\r\nabcd".utf8)
        for cut in 0...answer.count {
            var handshake = try Self.handshake("http://ann:secret@proxy.example")
            _ = handshake.start()
            let request = Self.text(Self.receive(answer, cutAt: cut, by: &handshake))
            let lines = request?.split(separator: "\r\n").map(String.init) ?? []
            #expect(lines.last == "Proxy-Authorization: Basic YW5uOnNlY3JldA==")
            // The credentials are sent once.
            #expect(handshake.receive(answer.rawBytes) == .failed(.authenticationFailed))
        }
    }

    // C-126, C-128
    @Test func `an answer to a request with credentials → an error without texts of the proxy`() throws {
        let challenge = "HTTP/1.1 407 Sign in\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"
        for (answer, error) in [
            ("403 denied for ann:secret", ProxyError.refused(status: 403, reason: "")),
            ("502 Basic YW5uOnNlY3JldA==", .refused(status: 502, reason: "")),
            ("302 Found\r\nLocation: http://secret.ann/", .redirected(status: 302, host: nil)),
            ("407 x\r\nProxy-Authenticate: secret", .authenticationFailed), ("407 x", .authenticationFailed),
        ] {
            var handshake = try Self.handshake("http://ann:secret@proxy.example")
            _ = handshake.start()
            #expect(Self.text(handshake.receive(Array(challenge.utf8).rawBytes)) != nil)
            #expect(handshake.receive(Array("HTTP/1.1 \(answer)\r\n\r\n".utf8).rawBytes) == .failed(error))
        }
    }

    // C-128
    @Test(arguments: [
        "Connection: close\r\nContent-Length: 0", "Proxy-Connection: close\r\nContent-Length: 0", "X: y",
        "Transfer-Encoding: chunked", "Content-Length: 65537", "Content-Length: -1", "Content-Length: +1",
        "Content-Length: 1, 1",
    ])
    func `a challenge that ends the connection or has no known end → a further connection`(
        fields: String
    ) throws {
        var handshake = try Self.handshake("http://ann:secret@proxy.example")
        _ = handshake.start()
        let answer = "HTTP/1.1 407 Sign in\r\nProxy-Authenticate: Basic realm=x\r\n\(fields)\r\n\r\n"
        #expect(handshake.receive(Array(answer.utf8).rawBytes) == .reconnect)
        let request = String(decoding: handshake.start(), as: UTF8.self)
        #expect(request.hasSuffix("\r\nProxy-Authorization: Basic YW5uOnNlY3JldA==\r\n\r\n"))
        #expect(handshake.receive(Array("HTTP/1.1 200 OK\r\n\r\n".utf8).rawBytes) == .connected(byteCount: 19))
    }

    // C-128
    @Test(arguments: [
        ("NTLM", "NTLM"), ("Negotiate\r\nProxy-Authenticate: NTLM", "Negotiate, NTLM"),
        ("Digest realm=x, nonce=y, algorithm=SHA-512-256, qop=auth", "Digest"),
        (String(repeating: "x", count: 100), String(repeating: "x", count: 64)),
    ])
    func `a challenge without a scheme of the client → a failure that names the schemes`(
        field: String, schemes: String
    ) throws {
        for proxy in ["http://ann:secret@proxy.example", "http://proxy.example"] {
            var handshake = try Self.handshake(proxy)
            _ = handshake.start()
            let answer = "HTTP/1.1 407 x\r\nProxy-Authenticate: \(field)\r\n\r\n"
            #expect(
                handshake.receive(Array(answer.utf8).rawBytes)
                    == .failed(.unsupportedAuthentication(schemes: schemes)))
        }
    }

    // C-128
    @Test func `a challenge of Basic beside NTLM without credentials → they are required`() throws {
        var handshake = try Self.handshake()
        _ = handshake.start()
        let answer = "HTTP/1.1 407 x\r\nProxy-Authenticate: NTLM, Basic realm=x\r\n\r\n"
        #expect(handshake.receive(Array(answer.utf8).rawBytes) == .failed(.authenticationRequired))
    }

    // C-128
    @Test func `an end of the connection → a failure, or a further connection within a challenge`() throws {
        var handshake = try Self.handshake("http://ann:secret@proxy.example")
        _ = handshake.start()
        #expect(handshake.ended() == .failed(.closed))
        let answer = "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 9\r\n\r\n1"
        #expect(handshake.receive(Array(answer.utf8).rawBytes) == .incomplete)
        #expect(handshake.ended() == .reconnect)
    }

    // C-128
    @Test func `bytes behind a challenge → a failure, because nothing was asked`() throws {
        var handshake = try Self.handshake("http://ann:secret@proxy.example")
        _ = handshake.start()
        let answer = "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 1\r\n\r\n12"
        #expect(handshake.receive(Array(answer.utf8).rawBytes) == .failed(.invalidResponse))
    }

    // C-128
    @Test func `a stale nonce → one further answer`() throws {
        var handshake = try Self.handshake("http://ann:secret@proxy.example")
        _ = handshake.start()
        func challenge(_ nonce: String, _ more: String = "") -> [UInt8] {
            Array(
                ("HTTP/1.1 407 x\r\nContent-Length: 0\r\nProxy-Authenticate: Digest realm=x, qop=\"auth\", "
                    + "nonce=\(nonce)\(more)\r\n\r\n").utf8)
        }
        for (nonce, more) in [("one", ""), ("two", ", stale=TRUE")] {
            let request = Self.text(handshake.receive(challenge(nonce, more).rawBytes)) ?? ""
            #expect(request.split(separator: "nonce=\"\(nonce)\"").count == 2)
        }
        #expect(handshake.receive(challenge("three", ", stale=true").rawBytes) == .failed(.authenticationFailed))
    }
}
