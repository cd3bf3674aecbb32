import MartletTransport
import Testing

@testable import MartletLink

@Suite struct RedirectTargetTests {
    private let plain = try! [Endpoint(parsing: "martlet://a.example")]
    private let secure = try! [Endpoint(parsing: "martlets://a.example")]

    @Test func `a client that allows plaintext, a redirect without TLS -> followed`() throws {
        let target = try RedirectTarget.endpoint(Endpoint(host: "b.example", port: 7000, security: .plain))
        for text in ["martlet://b.example:7000", "b.example:7000"] {
            #expect(RedirectTarget(text, from: plain, allowsPlaintext: true) == target)
        }
    }

    @Test func `a client without TLS, a redirect to this machine without TLS -> followed`() throws {
        let target = try RedirectTarget.endpoint(Endpoint(host: "127.0.0.1", security: .plain))
        #expect(RedirectTarget("martlet://127.0.0.1", from: plain, allowsPlaintext: false) == target)
    }

    @Test func `any client, a redirect to martlets:// -> followed with TLS`() throws {
        let target = try RedirectTarget.endpoint(Endpoint(host: "b.example"))
        for endpoints in [plain, secure] {
            #expect(RedirectTarget("martlets://b.example", from: endpoints, allowsPlaintext: false) == target)
        }
    }

    @Test func `a redirect without TLS to another machine that is not allowed -> refused with tlsFailure`() {
        for (endpoints, allowsPlaintext) in [(plain, false), (secure, false), (secure, true)] {
            let target = RedirectTarget("martlet://b.example", from: endpoints, allowsPlaintext: allowsPlaintext)
            guard case .refused(.tlsFailure, let detail) = target else {
                Issue.record("followed")
                continue
            }
            #expect(detail.contains("b.example"))
        }
    }

    @Test(arguments: ["", "http://b.example", "martlet://", "b.example:0"])
    func `a redirect to an invalid address -> refused as unreachable`(text: String) {
        guard case .refused(.unreachable, _) = RedirectTarget(text, from: plain, allowsPlaintext: false) else {
            Issue.record("followed")
            return
        }
    }
}
