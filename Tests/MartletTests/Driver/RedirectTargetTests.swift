import MartletTransport
import Testing

@testable import Martlet

/// Where a redirect may lead.
@Suite struct RedirectTargetTests {
    private let plain = try! [Endpoint(parsing: "martlet://a.example")]
    private let secure = try! [Endpoint(parsing: "martlets://a.example")]

    @Test func `without TLS it is followed to where there is none, be it said or not`() throws {
        let target = try RedirectTarget.endpoint(Endpoint(host: "b.example", port: 7000, security: .plain))
        #expect(RedirectTarget("martlet://b.example:7000", from: plain) == target)
        #expect(RedirectTarget("b.example:7000", from: plain) == target)
    }

    @Test(arguments: ["martlet://b.example", "martlets://b.example", "b.example"])
    func `with TLS it never leads to a carrier without`(text: String) {
        guard case .refused(.tlsFailure, let detail) = RedirectTarget(text, from: secure) else {
            Issue.record("followed")
            return
        }
        #expect(detail.contains(text))
    }

    @Test func `to TLS it is not followed in the clear`() {
        guard case .refused(.tlsFailure, _) = RedirectTarget("martlets://b.example", from: plain) else {
            Issue.record("followed")
            return
        }
    }

    @Test(arguments: ["", "http://b.example", "martlet://", "b.example:0"])
    func `what is no endpoint is nowhere`(text: String) {
        guard case .refused(.unreachable, _) = RedirectTarget(text, from: plain) else {
            Issue.record("followed")
            return
        }
    }
}
