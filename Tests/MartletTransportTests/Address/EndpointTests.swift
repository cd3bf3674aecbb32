import MartletTransport
import Testing

@Suite struct EndpointTests {
    // W-1, C-58
    @Test(arguments: [
        ("martlet://chat.example.com:99", "chat.example.com", 99, Endpoint.Security.plain),
        ("martlets://chat.example.com", "chat.example.com", 7227, .tls),
        ("martlets://chat.example.com/", "chat.example.com", 7227, .tls),
        ("MARTLETS://Chat.Example.COM:1", "chat.example.com", 1, .tls),
        ("localhost", "localhost", 7227, .tls),
        ("localhost:65535", "localhost", 65535, .tls),
        ("127.0.0.1:80", "127.0.0.1", 80, .tls),
        ("[::1]:80", "::1", 80, .tls),
        ("[::1]", "::1", 7227, .tls),
        ("martlet://[fe80::1%1]:5", "fe80::1%1", 5, .plain),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", 7227, .tls),
    ])
    func `valid text parses to host, port and security`(
        _ text: String, _ host: String, _ port: Int, _ security: Endpoint.Security
    ) throws {
        let endpoint = try Endpoint(parsing: text)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.security == security)
        #expect(try Endpoint(parsing: endpoint.description) == endpoint)
    }

    // C-124
    @Test(arguments: [
        ("wss://chat.example.com", 443, Endpoint.Security.tls, "/martlet", "chat.example.com"),
        ("wss://chat.example.com/", 443, .tls, "/martlet", "chat.example.com"),
        ("WSS://chat.example.com:7227/a/b?c=%20", 7227, .tls, "/a/b?c=%20", "chat.example.com:7227"),
        ("ws://localhost", 80, .plain, "/martlet", "localhost"),
        ("ws://localhost:80/Martlet", 80, .plain, "/Martlet", "localhost"),
        ("ws://[::1]:8080/x", 8080, .plain, "/x", "[::1]:8080"),
    ])
    func `the address of a WebSocket parses to port, security, path and authority`(
        _ text: String, _ port: UInt16, _ security: Endpoint.Security, _ path: String, _ authority: String
    ) throws {
        let endpoint = try Endpoint(parsing: text)
        #expect(endpoint.port == port)
        #expect(endpoint.security == security)
        #expect(endpoint.webSocketPath == path)
        #expect(endpoint.authority == authority)
        #expect(try Endpoint(parsing: endpoint.description) == endpoint)
    }

    @Test(arguments: [
        ("wss://a/b#c", EndpointError.invalidPath("/b#c")), ("wss://a?b", .invalidPath("?b")),
        ("ws://a/b c", .invalidPath("/b c")), ("ws://a/ä", .invalidPath("/ä")), ("ws:///martlet", .empty),
        ("martlets://a/martlet", .trailingText("/martlet")),
    ])
    func `an invalid path, or one without a WebSocket, throws the matching error`(
        _ text: String, _ error: EndpointError
    ) {
        #expect(throws: error) { try Endpoint(parsing: text) }
    }

    @Test(arguments: [
        ("", EndpointError.empty),
        (":80", .empty),
        ("martlet://", .empty),
        ("http://example.com", .unknownScheme("http")),
        ("://example.com", .unknownScheme("")),
        ("example.com:", .invalidPort("")),
        ("example.com:0", .invalidPort("0")),
        ("example.com:65536", .invalidPort("65536")),
        ("example.com:+80", .invalidPort("+80")),
        ("example.com: 80", .invalidPort(" 80")),
        ("::1", .unbracketedIPv6),
        ("[::1", .invalidHost("[::1")),
        ("[127.0.0.1]", .invalidHost("127.0.0.1")),
        ("[::1]x", .trailingText("x")),
        ("martlet://example.com/room", .trailingText("/room")),
        ("user@example.com", .invalidHost("user@example.com")),
        ("exa mple", .invalidHost("exa mple")),
        ("bücher.example", .invalidHost("bücher.example")),
        ("a\0b", .invalidHost("a\0b")),
        (String(repeating: "a", count: 254), .hostTooLong(limit: 253)),
    ])
    func `invalid text throws the matching error`(_ text: String, _ error: EndpointError) {
        #expect(throws: error) { try Endpoint(parsing: text) }
    }

    // C-135
    @Test(arguments: [
        "2130706433", "0x7f000001", "0X7F000001", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "127.0.0.0x1",
        "0x", "127.0.0.1.", "1.2.3.4.5", "256.0.0.1", "chat.example.7", "7.",
    ])
    func `a host that ends in a number without being an address → an error`(_ host: String) {
        for text in ["martlet://\(host)", "ws://\(host):80/x", host] {
            #expect(throws: EndpointError.numericHost(host)) { try Endpoint(parsing: text) }
        }
    }

    // C-135
    @Test(arguments: ["7.example", "0x7f.example", "chat.0xg", "chat.1a", "127.0.0.1", "a.", "example.7a"])
    func `a host that does not end in a number, and an address → an endpoint`(_ host: String) throws {
        #expect(try Endpoint(parsing: host).host == host)
    }

    // C-58
    @Test func `text without a scheme gets the default security`() throws {
        #expect(try Endpoint(parsing: "localhost", defaultSecurity: .plain).security == .plain)
    }
}
