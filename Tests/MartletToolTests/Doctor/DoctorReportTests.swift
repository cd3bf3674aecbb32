import MartletToolSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletTool
@testable import MartletTransport

/// The checks as scripts: results of steps in, lines and next steps out.
@Suite struct DoctorReportTests {
    private static let time = Duration.milliseconds(2)
    private let v4 = SocketAddress(IPAddress(v4: 0xC000_0201), port: 7227)
    private let v6 = SocketAddress(.loopbackV6, port: 7227)

    private func report(
        _ address: String, secret: DoctorReport.Secret? = nil, allowsPlaintext: Bool = false
    ) -> (report: DoctorReport, line: DoctorLine) {
        DoctorReport.begin(address, secret: secret, allowsPlaintext: allowsPlaintext)
    }

    /// A report whose connection to the first address is the next step.
    private func connected(_ address: String) -> DoctorReport {
        var report = report(address).report
        _ = report.resolved(.success([v4]), after: Self.time)
        _ = report.connected([.init(address: v4, duration: Self.time)])
        #expect(report.step == .secure(v4))
        return report
    }

    private let welcome = Welcome(
        features: [.zlib, .compact], limits: Limits(), account: AccountName("ada"), link: LinkID(rawValue: 1),
        resumeToken: ResumeToken([UInt8](repeating: 1, count: ResumeToken.byteCount))!, epoch: Epoch(rawValue: 1),
        resumeLifetime: .seconds(300))

    private func security(days: Int64, isResumed: Bool = false) -> TransportSecurity {
        TransportSecurity(
            version: "TLSv1.3", isResumed: isResumed, cipher: "TLS_AES_256_GCM_SHA384",
            applicationProtocol: "martlet/1",
            peerCertificate: PeerCertificate(commonName: "server", notAfter: days * 86_400))
    }

    // MARK: Route

    private static func plan(_ variables: [String: String] = [:]) throws -> RoutePlan {
        RoutePlan(
            to: [try Endpoint(parsing: "chat.example.com")], proxies: ProxySelector(.automatic) { variables[$0] },
            usesWebSocket: true)
    }

    // C-127
    @Test func `a direct route, and one through a proxy → the name, the connection`() throws {
        var direct = report("chat.example.com").report
        direct.chooseRoute()
        #expect(direct.step == .route)
        #expect(direct.routed(.success(0), try Self.plan()).first?.found == "direct (first to answer)")
        #expect(direct.step == .resolve(try Endpoint(host: "chat.example.com")))
        var proxied = report("chat.example.com").report
        proxied.chooseRoute()
        let line = proxied.routed(.success(1), try Self.plan(["HTTPS_PROXY": "http://u:secret@p:3128"])).first
        #expect(
            line?.text == "ok    route        WebSocket on port 443 through proxy p:3128 (HTTPS_PROXY names the proxy)")
        #expect(line?.json["proxy"] == .string("p:3128") && line?.json["route"] == .string("webSocketThroughProxy"))
        #expect(proxied.step == .secure(nil))
        // Without an answer.
        var silent = report("chat.example.com").report
        silent.chooseRoute()
        #expect(silent.routed(nil, try Self.plan()).first?.mark == .fail && silent.step == .end(.unavailable))
    }

    // C-130
    @Test func `a redirect of a WebSocket without TLS → a captive portal, in the words of a client's status`() {
        var plain = report("ws://127.0.0.1").report
        let error = DoctorFailure.transport(.webSocket(.refused(status: 302)))
        let line = plain.secured(.failure(error), after: .zero, wallClock: 0).first
        #expect(line?.mark == .fail && line?.json["error"] == .string("captivePortal"))
        #expect(line?.found == "\(CaptivePortal(.proxy(.redirected(status: 302, host: nil)), isPlain: true)!)")
        var secure = report("wss://127.0.0.1").report
        #expect(
            secure.secured(.failure(error), after: .zero, wallClock: 0).first?.json["error"] == .string("webSocket"))
    }

    // C-127
    @Test(arguments: [
        DoctorFailure.ended, .transport(.timedOut), .malformed(.badMagic(0x4854_5450)), .unexpected(.pong),
    ])
    func `no relay on the chosen route → a warning with its name, and the other routes`(failure: DoctorFailure) throws {
        var report = report("chat.example.com").report
        report.chooseRoute()
        var plan = try Self.plan()
        _ = report.routed(.success(1), plan)
        #expect(report.step == .secure(nil))
        _ = report.secured(.success(nil), after: .zero, wallClock: 0)
        let line = report.greeted(.failure(failure), after: .zero).first
        #expect(line?.check == .welcome && line?.mark == .warn && report.step == .route)
        #expect(line?.found.hasPrefix("WebSocket on port 443: ") == true)
        plan.remove(1)
        _ = report.routed(.success(0), plan)
        #expect(report.step == .resolve(try Endpoint(host: "chat.example.com")))
        _ = report.resolved(.success([v4]), after: .zero)
        _ = report.connected([.init(address: v4, duration: .zero)])
        _ = report.secured(.success(nil), after: .zero, wallClock: 0)
        let last = report.greeted(.failure(failure), after: .zero).first
        #expect(last?.mark == .fail && last?.found.hasPrefix("direct: ") == true)
        if case .end = report.step {} else { Issue.record("\(report.step)") }
    }

    // C-127
    @Test func `a refusal of a relay on the chosen route → the end, with the name of the route`() throws {
        var report = report("chat.example.com").report
        report.chooseRoute()
        _ = report.routed(.success(1), try Self.plan())
        _ = report.secured(.success(nil), after: .zero, wallClock: 0)
        let line = report.greeted(.failure(.refused(Notice(code: .forbidden))), after: .zero).first
        #expect(line?.mark == .fail && report.step == .end(.noPermission))
    }

    // C-126
    @Test func `an invalid variable → a failure with its name and without its value`() {
        var report = report("chat.example.com").report
        let faults = ProxySelector(.automatic) { $0 == "ALL_PROXY" ? "https://u:secret@p" : nil }.faults
        let line = faults.first.map { report.refuse($0) }
        #expect(line?.found == "ALL_PROXY: the scheme of the proxy is none of http, socks5 and socks5h")
        #expect(report.step == .end(.usage))
        let unused = faults.first.map { DoctorReport.unusedProxy($0) }
        #expect(unused?.mark == .warn && unused?.found.hasPrefix("ALL_PROXY: ") == true)
        #expect(unused?.found.contains("secret") == false)
    }

    // MARK: Address and name

    @Test func `addresses with TLS, without it on this machine and elsewhere → ok, ok, a warning`() throws {
        let (tls, line) = report("chat.example.com")
        #expect(line.text == "ok    address      martlets://chat.example.com:7227, with TLS")
        #expect(tls.step == .resolve(try Endpoint(host: "chat.example.com")))
        #expect(report("martlet://127.0.0.1").line.mark == .ok)
        let (plain, warning) = report("martlet://192.0.2.1")
        #expect(warning.mark == .warn && warning.advice?.contains("martlets://") == true)
        #expect(plain.step == .resolve(try Endpoint(host: "192.0.2.1", security: .plain)))
    }

    @Test func `a token without TLS to another machine → a failure unless it is allowed`() {
        let (refused, line) = report("martlet://192.0.2.1", secret: .token)
        #expect(refused.step == .end(.usage) && line.mark == .fail)
        #expect(line.json["error"] == .string("plaintextToken"))
        #expect(report("martlet://192.0.2.1", secret: .token, allowsPlaintext: true).line.mark == .warn)
        #expect(report("martlet://127.0.0.1", secret: .token).line.mark == .ok)
    }

    // C-68
    @Test(arguments: ["martlet://127.0.0.1", "martlet://192.0.2.1"])
    func `a password without TLS, also to this machine → a failure unless it is allowed`(address: String) {
        let (refused, line) = report(address, secret: .password)
        #expect(refused.step == .end(.usage) && line.mark == .fail)
        #expect(line.json["error"] == .string("plaintextPassword"))
        #expect(report(address, secret: .password, allowsPlaintext: true).report.step != .end(.usage))
        #expect(report("127.0.0.1", secret: .password).line.mark == .ok)
    }

    @Test(arguments: [
        ("", "empty"), ("http://a", "unknownScheme"), ("a b", "invalidHost"), ("a:0", "invalidPort"),
        ("::1", "unbracketedIPv6"), ("a/b", "trailingText"), (String(repeating: "a", count: 254), "hostTooLong"),
    ])
    func `an invalid address → a failure with its reason`(address: String, name: String) {
        let (report, line) = report(address)
        #expect(report.step == .end(.usage) && line.mark == .fail && line.advice != nil)
        #expect(line.json["error"] == .string(name))
    }

    @Test func `a name with two addresses → a list with families; connections to both`() {
        var report = report("chat.example.com").report
        let lines = report.resolved(.success([v6, v4]), after: Self.time)
        #expect(lines.map(\.text) == ["ok    name         ::1 (IPv6), 192.0.2.1 (IPv4) in 2.00 ms"])
        #expect(lines[0].json["addresses"] == .array([.string("::1"), .string("192.0.2.1")]))
        #expect(report.step == .connect([v6, v4]))
    }

    @Test(arguments: [TransportError.noAddresses, .timedOut, .resolutionFailed(code: -2, text: "not known")])
    func `a name without an address → noHost`(error: TransportError) {
        var report = report("chat.example.com").report
        #expect(report.resolved(.failure(error), after: Self.time).map(\.mark) == [.fail])
        #expect(report.step == .end(.noHost))
    }

    // MARK: Connect

    @Test func `one of two addresses answers → a warning for the other one; the next step uses the first one`() {
        var report = report("chat.example.com").report
        _ = report.resolved(.success([v6, v4]), after: Self.time)
        let lines = report.connected([
            .init(address: v6, error: .unreachable, duration: Self.time), .init(address: v4, duration: Self.time),
        ])
        #expect(lines.map(\.mark) == [.warn, .ok])
        #expect(lines[0].found == "[::1]:7227: there is no route to the address")
        #expect(lines[1].text == "ok    connect      192.0.2.1:7227 in 2.00 ms")
        #expect(
            lines[1].json.text
                == #"{"check":"connect","mark":"ok","found":"192.0.2.1:7227 in 2.00 ms","advice":null,"#
                + #""address":"192.0.2.1:7227","milliseconds":2.000}"#)
        #expect(report.step == .secure(v4))
    }

    @Test func `no address answers → a failure for each, unavailable`() {
        var report = report("chat.example.com").report
        _ = report.resolved(.success([v6, v4]), after: Self.time)
        let lines = report.connected([
            .init(address: v6, error: .refused, duration: Self.time),
            .init(address: v4, error: .timedOut, duration: Self.time),
        ])
        #expect(lines.map(\.mark) == [.fail, .fail])
        #expect(lines.map { $0.json["error"] } == [.string("refused"), .string("timedOut")])
        #expect(report.step == .end(.unavailable))
    }

    // MARK: TLS

    @Test func `a TLS connection → version, cipher and protocol; the days of the certificate`() {
        var report = connected("chat.example.com")
        let lines = report.secured(.success(security(days: 100)), after: Self.time, wallClock: 50 * 86_400_000)
        #expect(
            lines.map(\.text) == [
                "ok    tls          TLSv1.3, TLS_AES_256_GCM_SHA384, martlet/1, certificate verified for "
                    + "chat.example.com, in 2.00 ms",
                "ok    certificate  server, valid until 1970-04-11, 50 days",
            ])
        #expect(lines[1].json["days"] == .integer(50))
        #expect(report.step == .greet)
    }

    @Test(arguments: [14, 13, 0])
    func `the days until a certificate expires → a warning below 14`(days: Int64) {
        var report = connected("chat.example.com")
        let lines = report.secured(.success(security(days: days)), after: Self.time, wallClock: 0)
        #expect(lines.last?.mark == (days < 14 ? .warn : .ok) && (lines.last?.advice == nil) == (days >= 14))
    }

    @Test func `a failed handshake → a failure of tls; without TLS of connect`() {
        var tls = connected("chat.example.com")
        let failure = DoctorFailure.transport(.tls(.selfSigned(subject: "CN=own")))
        let lines = tls.secured(.failure(failure), after: Self.time, wallClock: 0)
        #expect(
            lines.map(\.text) == [
                "FAIL  tls          the certificate of CN=own is self-signed; "
                    + "give the certificate with --trust, or its key with --pin"
            ])
        #expect(lines[0].json["error"] == .string("selfSigned"))
        #expect(tls.step == .end(.protocolError))
        var plain = connected("martlet://127.0.0.1")
        #expect(plain.secured(.failure(.transport(.reset)), after: .zero, wallClock: 0).map(\.check) == [.connect])
        #expect(plain.step == .end(.unavailable))
    }

    // MARK: Protocol

    @Test func `without TLS → no line of TLS, and the end after the clock`() {
        var report = connected("martlet://127.0.0.1")
        #expect(report.secured(.success(nil), after: .zero, wallClock: 0).isEmpty)
        #expect(report.step == .greet)
        let lines = report.greeted(.success(welcome), after: Self.time)
        #expect(
            lines.map(\.text) == [
                "ok    welcome      account ada, version 1.0, features zlib compact; limits: body 64.0 KiB, "
                    + "message 1.00 MiB, link window 1.00 MiB, session window 256 KiB, 255 sessions; in 2.00 ms"
            ])
        #expect(lines[0].json["features"] == .array([.string("zlib"), .string("compact")]))
        #expect(lines[0].json["maxBody"] == .integer(65_536))
        #expect(report.step == .ping)
        let pings = report.pinged(.success([5, 1, 4, 2, 3].map { Duration.milliseconds($0) }))
        #expect(
            pings.map(\.text) == [
                "ok    ping         5 round trips: minimum 1.00 ms, median 3.00 ms, maximum 5.00 ms"
            ])
        #expect(report.step == .compare)
        let clock = report.compared(.success(.milliseconds(-1500)))
        #expect(clock.map(\.text) == ["ok    clock        the relay's clock is 1.50 s behind this machine's"])
        #expect(report.step == .end(.success))
    }

    @Test func `a reject → a failure of welcome with the exit code of its code`() {
        var report = connected("martlet://127.0.0.1")
        _ = report.secured(.success(nil), after: .zero, wallClock: 0)
        let lines = report.greeted(.failure(.refused(Notice(code: .unauthenticated))), after: Self.time)
        #expect(lines.map(\.check) == [.welcome] && lines[0].advice?.contains("--token") == true)
        #expect(report.step == .end(.noPermission))
    }

    @Test func `without TLS no answer to the hello → the advice to use TLS; with TLS other advice`() {
        for failure in [DoctorFailure.ended, .transport(.reset)] {
            var plain = connected("martlet://127.0.0.1")
            _ = plain.secured(.success(nil), after: .zero, wallClock: 0)
            #expect(plain.greeted(.failure(failure), after: .zero)[0].advice?.contains("martlets://") == true)
            var tls = connected("chat.example.com")
            _ = tls.secured(.success(security(days: 100)), after: .zero, wallClock: 0)
            #expect(tls.greeted(.failure(failure), after: .zero)[0].advice?.contains("martlets://") == false)
        }
    }

    @Test func `an alert after the handshake → a failure of tls`() {
        var report = connected("chat.example.com")
        _ = report.secured(.success(security(days: 100)), after: Self.time, wallClock: 0)
        let lines = report.greeted(.failure(.transport(.tls(.alert("certificate required")))), after: Self.time)
        #expect(lines.map(\.check) == [.tls] && report.step == .end(.protocolError))
    }

    @Test func `no pong → a failure of ping`() {
        var report = connected("martlet://127.0.0.1")
        _ = report.secured(.success(nil), after: .zero, wallClock: 0)
        _ = report.greeted(.success(welcome), after: Self.time)
        var silent = report
        let lines = report.pinged(.failure(.transport(.timedOut)))
        #expect(lines.map(\.mark) == [.fail])
        // The path is not at fault when the connection is open.
        let greeted = silent.greeted(.failure(.transport(.timedOut)), after: .zero)
        for line in lines + greeted {
            #expect(line.found == "the connection is open, but no answer came before the timeout")
            #expect(line.advice?.contains("firewall") == false)
        }
        #expect(report.step == .end(.unavailable))
    }

    // R-96
    @Test(arguments: [
        (Duration.seconds(30), DoctorLine.Mark.ok, "ahead of"), (.seconds(31), .warn, "ahead of"),
        (.seconds(-31), .warn, "behind"),
    ])
    func `a difference of clocks → a warning beyond 30 s`(difference: Duration, mark: DoctorLine.Mark, side: String) {
        var report = connected("martlet://127.0.0.1")
        _ = report.secured(.success(nil), after: .zero, wallClock: 0)
        _ = report.greeted(.success(welcome), after: Self.time)
        _ = report.pinged(.success([Self.time]))
        var (other, failed) = (report, report)
        let lines = report.compared(.success(difference))
        #expect(lines.map(\.mark) == [mark] && lines[0].found.contains(side))
        #expect((lines[0].advice != nil) == (mark == .warn))
        #expect(other.compared(.success(nil)).map(\.mark) == [.ok] && other.step == .end(.success))
        #expect(failed.compared(.failure(.ended)).map(\.mark) == [.fail] && failed.step == .end(.protocolError))
    }

    // MARK: Resumption

    @Test func `a second connection → ok if resumed, otherwise a warning and success`() {
        let results: [(Result<TransportSecurity?, DoctorFailure>, DoctorLine.Mark)] = [
            (.success(security(days: 100, isResumed: true)), .ok), (.success(security(days: 100)), .warn),
            (.failure(.transport(.refused)), .warn),
        ]
        for (result, mark) in results {
            var report = connected("chat.example.com")
            _ = report.secured(.success(security(days: 100)), after: Self.time, wallClock: 0)
            _ = report.greeted(.success(welcome), after: Self.time)
            _ = report.pinged(.success([Self.time]))
            _ = report.compared(.success(.zero))
            #expect(report.step == .resume(v4))
            #expect(report.resumed(result, after: Self.time).map(\.mark) == [mark])
            #expect(report.step == .end(.success))
        }
    }
}

@Suite struct DoctorLineTests {
    @Test func `a line without advice → mark, check and findings in columns; advice null in JSON`() {
        let line = DoctorLine(
            check: .ping, mark: .ok, found: "5 round trips", details: [.init("median", .decimal(0.25))])
        #expect(line.text == "ok    ping         5 round trips")
        #expect(line.json.text == #"{"check":"ping","mark":"ok","found":"5 round trips","advice":null,"median":0.250}"#)
    }

    @Test func `a failure and a warning → the advice behind the findings`() {
        var line = DoctorLine(check: .certificate, mark: .fail, found: "it expired", advice: "renew it")
        #expect(line.text == "FAIL  certificate  it expired; renew it")
        #expect(line.json.text == #"{"check":"certificate","mark":"fail","found":"it expired","advice":"renew it"}"#)
        line.mark = .warn
        #expect(line.text == "warn  certificate  it expired; renew it")
    }

    @Test func `control characters from the relay → shown as text`() {
        let line = DoctorLine(check: .welcome, mark: .fail, found: "\u{1B}[31m\n")
        #expect(line.text == "FAIL  welcome      \u{FFFD}[31m\u{23CE}")
    }
}
