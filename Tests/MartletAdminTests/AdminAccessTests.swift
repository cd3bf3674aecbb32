import MartletHTTP
import MartletWire
import Testing

@testable import MartletAdmin

@Suite struct AdminAccessTests {
    private static let token = "0123456789abcdef"

    /// The status of the refusal; nil if the request is accepted.
    private static func status(
        _ access: AdminAccess, host: String = "localhost", authorization: String? = nil, hasCertificate: Bool = false
    ) throws -> UInt16? {
        var parser = HTTPRequestParser()
        let credential = authorization.map { "Authorization: \($0)\r\n" } ?? ""
        parser.receive(Array("GET /metrics HTTP/1.1\r\nHost: \(host)\r\n\(credential)\r\n".utf8).rawBytes)
        let request = try #require(try parser.next())
        return access.refusal(of: request, hasCertificate: hasCertificate)?.status.code
    }

    @Test(
        arguments: [
            ("localhost", nil), ("LOCALHOST:7228", nil), ("127.0.0.1", nil), ("127.1.2.3:80", nil), ("[::1]", nil),
            ("[::1]:7228", nil), ("relay.example", 403), ("localhost.example", 403), ("127.0.0.1.example:80", 403),
            ("192.0.2.1", 403), ("192.0.2.1:80", 403), ("[2001:db8::1]", 403), ("", 403),
        ] as [(String, UInt16?)])
    func `loopback without a token → accepted if the host is this machine`(_ host: String, _ status: UInt16?) throws {
        #expect(try Self.status(AdminAccess(token: nil, requiresCredential: false), host: host) == status)
    }

    @Test(
        arguments: [
            (nil, 401), ("Bearer 0123456789abcdef", nil), ("bearer 0123456789abcdef", nil),
            ("Bearer 0123456789abcdeF", 401), ("Bearer 0123456789abcde", 401), ("Bearer 0123456789abcdef0", 401),
            ("Bearer ", 401), ("Bearer", 401), ("Basic 0123456789abcdef", 401), ("0123456789abcdef", 401),
        ] as [(String?, UInt16?)], [false, true])
    func `a port with a token → accepted with exactly this token`(
        _ given: (String?, UInt16?), _ isExposed: Bool
    ) throws {
        let access = AdminAccess(token: Self.token, requiresCredential: isExposed)
        #expect(try Self.status(access, host: "relay.example", authorization: given.0) == given.1)
    }

    @Test func `other addresses → accepted with a certificate, or with the token`() throws {
        let certificates = AdminAccess(token: nil, requiresCredential: true)
        #expect(try Self.status(certificates) == 403)
        #expect(try Self.status(certificates, hasCertificate: true) == nil)
        let either = AdminAccess(token: Self.token, requiresCredential: true)
        #expect(try Self.status(either, hasCertificate: true) == nil)
        #expect(try Self.status(either) == 401)
        let local = AdminAccess(token: Self.token, requiresCredential: false)
        #expect(try Self.status(local, hasCertificate: true) == 401)
    }

    @Test(arguments: [
        (String(repeating: "x", count: 15), false), (String(repeating: "x", count: 16), true),
        (String(repeating: "~", count: 512), true), (String(repeating: "x", count: 513), false),
        ("0123456789 abcdef", false), ("0123456789abcdeä", false), ("0123456789abcdef\n", false), ("", false),
    ])
    func `a text → a token if it has 16 to 512 printable characters`(_ text: String, _ isValid: Bool) {
        #expect(AdminAccess.isValid(text) == isValid)
    }
}
