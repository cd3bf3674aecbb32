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

    // C-58
    @Test func `text without a scheme gets the default security`() throws {
        #expect(try Endpoint(parsing: "localhost", defaultSecurity: .plain).security == .plain)
    }
}
