import MartletTransport
import Testing

@testable import Martlet

@Suite struct RedirectTargetTests {
    private let plain = try! [Endpoint(parsing: "martlet://a.example")]
    private let secure = try! [Endpoint(parsing: "martlets://a.example")]

    @Test func `a client without TLS follows a redirect to martlet:// or without a scheme`() throws {
        let target = try RedirectTarget.endpoint(Endpoint(host: "b.example", port: 7000, security: .plain))
        #expect(RedirectTarget("martlet://b.example:7000", from: plain) == target)
        #expect(RedirectTarget("b.example:7000", from: plain) == target)
    }

    @Test(arguments: ["martlet://b.example", "martlets://b.example", "b.example"])
    func `a client with TLS refuses each redirect with tlsFailure`(text: String) {
        guard case .refused(.tlsFailure, let detail) = RedirectTarget(text, from: secure) else {
            Issue.record("followed")
            return
        }
        #expect(detail.contains(text))
    }

    @Test func `a client without TLS refuses a redirect to martlets:// with tlsFailure`() {
        guard case .refused(.tlsFailure, _) = RedirectTarget("martlets://b.example", from: plain) else {
            Issue.record("followed")
            return
        }
    }

    @Test(arguments: ["", "http://b.example", "martlet://", "b.example:0"])
    func `a redirect to an invalid address is refused as unreachable`(text: String) {
        guard case .refused(.unreachable, _) = RedirectTarget(text, from: plain) else {
            Issue.record("followed")
            return
        }
    }
}
