import MartletTransport
import Testing

@testable import MartletProxy

@Suite("The challenges of a proxy")
struct ProxyChallengeTests {
    private static let serverNonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"

    private static func answer(_ field: String, _ proxy: String = "http://Mufasa:Circle%20of%20Life@p") throws
        -> String?
    {
        let best = ProxyChallenge.list(field).filter { $0.strength != nil }
            .max { ($0.strength ?? 0) < ($1.strength ?? 0) }
        guard let best, let credentials = try ProxyAddress(proxy).credentials else { return nil }
        let nonce = [UInt8](repeating: 0x0C, count: 16)
        return best.answer(credentials, target: "chat.example:443", nonce: nonce).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    // C-128
    /// The responses were computed with hashlib of Python.
    @Test(arguments: [
        ("", "MD5", "22df861f33ce48dd6563c05d25230225"), (", algorithm=md5", "MD5", "22df861f33ce48dd6563c05d25230225"),
        (", algorithm=SHA-256", "SHA-256", "1270b42d60817762e361095d9161b8b658b957726c0e1dc53f3283bcb1e92189"),
    ])
    func `Digest with MD5 and SHA-256 → the response of RFC 7616`(
        parameter: String, algorithm: String, response: String
    ) throws {
        let nonce = String(repeating: "0c", count: 16)
        let field =
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", nonce=\"\(Self.serverNonce)\", "
            + "opaque=\"a\\\"b\"\(parameter)"
        let expected =
            "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", nonce=\"\(Self.serverNonce)\", "
            + "uri=\"chat.example:443\", response=\"\(response)\", qop=auth, nc=00000001, cnonce=\"\(nonce)\", "
            + "algorithm=\(algorithm), opaque=\"a\\\"b\""
        #expect(try Self.answer(field) == expected)
    }

    // C-128
    @Test func `several schemes → the strongest that is supported`() throws {
        let md5 = "Digest realm=a, nonce=b, qop=auth"
        let sha = "Digest realm=a, nonce=b, qop=\"auth\", algorithm=SHA-256"
        #expect(try Self.answer("Basic realm=\"x, y\", \(md5), \(sha)")?.hasSuffix("algorithm=SHA-256") == true)
        #expect(try Self.answer("Negotiate, \(md5), Basic realm=x")?.hasSuffix("algorithm=MD5") == true)
        #expect(try Self.answer("NTLM, Basic realm=x") == "Basic TXVmYXNhOkNpcmNsZSBvZiBMaWZl")
    }

    // C-128
    @Test(arguments: [
        "Negotiate YII=, Basic realm=x", "Negotiate oYG0/+a~==, Basic realm=x", "NTLM TlRMTVNTUAAC, Basic realm=x",
        "Negotiate YII= \t, , Basic realm=x", "Basic realm=x, Negotiate YII=",
        "Negotiate YII=, Digest realm=a, Basic realm=x", "Basic realm=\"YII=, Negotiate\", Negotiate YII==",
    ])
    func `a challenge with a value without a name → it hides no other one`(field: String) throws {
        #expect(try Self.answer(field) == "Basic TXVmYXNhOkNpcmNsZSBvZiBMaWZl")
    }

    // C-128
    @Test func `values without a name → they are no schemes`() {
        let field = "Negotiate YII, NTLM TlRM==, Digest realm=\"a\", nonce=b=, Basic"
        #expect(ProxyChallenge.list(field).map(\.scheme) == ["Negotiate", "NTLM", "Digest"])
        #expect(ProxyChallenge.list("Negotiate YII==, Basic").map(\.scheme) == ["Negotiate", "Basic"])
    }

    // C-128
    @Test(arguments: [
        "", ",", "Negotiate", "Digest realm=a, nonce=b", "Digest realm=a, nonce=b, qop=auth-int",
        "Digest nonce=b, qop=auth", "Digest realm=a, nonce=b, qop=auth, algorithm=MD5-sess", "=", "realm=x",
        "Digest realm=\"a", "Digest realm=\"a\\", "\u{0}",
    ])
    func `unsupported and malformed challenges → no answer`(field: String) throws {
        #expect(try Self.answer(field) == nil)
    }

    // C-128
    @Test func `a quotation mark in the user name → it is escaped`() throws {
        let answer = try Self.answer("Digest realm=a, nonce=b, qop=auth", "http://a%22b%5C:c@p")
        #expect(answer?.hasPrefix("Digest username=\"a\\\"b\\\\\", realm=\"a\"") == true)
    }
}
