import MartletTransport
import Testing

@testable import MartletLink

@Suite("The failures of all routes")
struct RouteFailuresTests {
    private static let portal = TransportError.proxy(.redirected(status: 302, host: "login.example"))
    private static let stranger = TransportError.tls(.wrongHost(host: "chat.example", names: "login.example"))

    private static func failures(
        to address: String = "martlets://chat.example", proxy: String? = nil, _ errors: TransportError...
    ) throws -> RouteFailures {
        let selector = ProxySelector(.automatic) { ["HTTPS_PROXY", "ALL_PROXY"].contains($0) ? proxy : nil }
        var failures = RouteFailures(
            RoutePlan(to: [try Endpoint(parsing: address)], proxies: selector, usesWebSocket: true))
        for (index, error) in errors.enumerated() { failures.add(error, of: index) }
        return failures
    }

    // C-130
    @Test func `a redirect in place of the answer of a proxy → a captive portal, with its host`() throws {
        let failures = try Self.failures(proxy: "http://p", Self.portal, .timedOut, .refused, .refused)
        #expect(failures.captivePortal == CaptivePortal(host: "login.example"))
        #expect(failures.failure == .captivePortal)
        #expect(failures.detail.hasSuffix("sign in at login.example"))
    }

    // C-130
    @Test(arguments: [302, 307, 511] as [UInt16])
    func `a redirect of a request for a WebSocket without TLS → a captive portal`(status: UInt16) throws {
        let error = TransportError.webSocket(.refused(status: status))
        #expect(try Self.failures(to: "ws://chat.example", error).failure == .captivePortal)
        #expect(try Self.failures(to: "ws://chat.example", error).detail.hasSuffix("sign in with a browser"))
        // The server of a valid certificate has answered.
        #expect(try Self.failures(to: "wss://chat.example", error).captivePortal == nil)
    }

    // C-130
    @Test func `two answers without TLS, or one and a strange certificate → a captive portal`() throws {
        #expect(try Self.failures(.tls(.notTLS), Self.stranger).failure == .captivePortal)
        #expect(try Self.failures(.tls(.notTLS), .tls(.notTLS)).failure == .captivePortal)
        #expect(
            try Self.failures(
                proxy: "http://p", .proxy(.closed), .tls(.notTLS), .timedOut, .tls(.selfSigned(subject: ""))
            )
            .failure == .captivePortal)
    }

    // C-130
    @Test func `other failures of TLS, and one alone → no captive portal`() throws {
        #expect(try Self.failures(.tls(.notTLS), .refused).captivePortal == nil)
        #expect(try Self.failures(Self.stranger, Self.stranger).captivePortal == nil)
        #expect(try Self.failures(.tls(.notTLS), .tls(.alert("x"))).captivePortal == nil)
        #expect(try Self.failures(.tls(.notTLS), .webSocket(.refused(status: 404))).captivePortal == nil)
        #expect(try Self.failures(.refused, Self.stranger).failure == .notListening)
        #expect(try Self.failures().failure == .unreachable)
    }

    // C-127
    @Test func `the failure of the attempt → that of the first route of the plan`() throws {
        #expect(try Self.failures(.timedOut, Self.stranger).failure == .unreachable)
        #expect(try Self.failures(Self.stranger, .refused).failure == .tlsFailure)
        #expect(try Self.failures(proxy: "http://p", .proxy(.authenticationFailed), .refused).failure == .proxyFailure)
        #expect(try Self.failures(proxy: "http://p", .refused, .refused).failure == .proxyFailure)
        #expect(try Self.failures(proxy: "http://p", Self.stranger).failure == .tlsFailure)
    }

    @Test func `the details → the names of the routes, and addresses of the proxy without the scheme of a server`()
        throws
    {
        let address = SocketAddress(IPAddress(v4: 0xC000_0201), port: 3128)
        let failure = ConnectFailure(
            endpoint: try Endpoint(parsing: "martlet://p:3128"), address: address, error: .refused)
        let failures = try Self.failures(
            proxy: "http://u:secret@p:3128", .connectFailed([failure]), .proxy(.refused(status: 403, reason: "no")))
        #expect(
            failures.detail
                == "proxy p:3128: 192.0.2.1:3128: connection refused; WebSocket on port 443 through proxy p:3128: "
                + "the proxy refuses with the status 403 (no)")
        #expect(try Self.failures(to: "martlet://chat.example", .refused).detail == "connection refused")
    }
}
