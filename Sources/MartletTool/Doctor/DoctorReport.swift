import MartletDecode
import MartletLink
import MartletToolSupport
import MartletTransport
import MartletWire

/// The sequence of the checks of `martlet doctor`. The caller performs the step, and reports its result for the lines.
///
/// | step | ended by | next step |
/// |---|---|---|
/// | route: connect on the first route that answers and was not tried, if there is a choice | `routed` | resolve if it is direct or none answered; secure for others; end after a failure that no further step explains |
/// | resolve | `resolved` | connect; end after a failure |
/// | connect: to each address | `connected` | secure; end if no address answered |
/// | secure: open a connection, with TLS if the endpoint uses it | `secured` | greet; end after a failure |
/// | greet: send hello | `greeted` | ping; route if no relay has answered and there is a further one; end after other failures |
/// | ping | `pinged` | compare; end after a failure |
/// | compare: request the relay's time | `compared` | resume with TLS, otherwise end |
/// | resume: open another connection with TLS | `resumed` | end |
/// | end | | |
struct DoctorReport: Equatable, Sendable {
    /// The next action of the caller.
    enum Step: Equatable, Sendable {
        case route
        case resolve(Endpoint)
        case connect([SocketAddress])
        /// Open a connection to the address; nil on the chosen route.
        case secure(SocketAddress?)
        case greet
        case ping
        case compare
        case resume(SocketAddress?)
        case end(ExitCode)
    }

    /// The result of a connection to one address.
    struct Connect: Equatable, Sendable {
        var address: SocketAddress
        /// The failure; nil if the address answered.
        var error: TransportError?
        var duration: Duration
    }

    /// The kind of the secret of a sign-in.
    enum Secret: Sendable {
        case token
        case password
    }

    /// The number of pings.
    static let pingCount = 5
    /// The remaining validity of a certificate, in days, below which its line is a warning.
    static let minDays: Int64 = 14
    /// The difference of the clocks beyond which its line is a warning: half of the leeway of signed tokens (C-85).
    static let maxClockDifference: Duration = .seconds(30)

    private(set) var step: Step
    /// The parsed address; nil if it is invalid.
    let endpoint: Endpoint?
    private var address: SocketAddress?
    /// The name of the chosen route; nil without a choice.
    private var route: String?
    private var hasFurtherRoute = false

    private init(_ endpoint: Endpoint?, _ step: Step) {
        self.endpoint = endpoint
        self.step = step
    }

    /// Parses the address. Without TLS a token is not used with another machine, and a password with no machine (C-68),
    /// unless `allowsPlaintext` is set.
    static func begin(
        _ text: String, secret: Secret?, allowsPlaintext: Bool
    ) -> (report: DoctorReport, line: DoctorLine) {
        let endpoint: Endpoint
        do { endpoint = try Endpoint(parsing: text) } catch {
            var report = DoctorReport(nil, .end(.usage))
            let line = report.fail(.address, DoctorExplanation(error))
            return (report, line)
        }
        var report = DoctorReport(endpoint, .resolve(endpoint))
        let line = report.address(of: endpoint, exposing: allowsPlaintext ? nil : secret)
        return (report, line)
    }

    private mutating func address(of endpoint: Endpoint, exposing secret: Secret?) -> DoctorLine {
        var line = DoctorLine(
            check: .address, mark: .ok, found: "\(endpoint), with TLS",
            details: [
                .init("host", .string(endpoint.host)), .init("port", .count(endpoint.port)),
                .init("tls", .bool(endpoint.security == .tls)),
            ])
        if endpoint.security == .tls { return line }
        line.found = "\(endpoint), without TLS" + (endpoint.isLoopback ? " on this machine" : "")
        if secret == .password {
            let explanation = DoctorExplanation(
                .usage, "plaintextPassword", line.found,
                "use martlets://, or give --plaintext to prove the password to an unverified server")
            return fail(.address, explanation)
        }
        if endpoint.isLoopback { return line }
        if secret == .token {
            let explanation = DoctorExplanation(
                .usage, "plaintextToken", line.found,
                "use martlets://, or give --plaintext to sign in readable for everybody on the network path")
            return fail(.address, explanation)
        }
        line.mark = .warn
        line.advice = "use martlets://, since everybody on the network path can read and change messages"
        return line
    }

    /// Begins with the choice of a route, because there are several, or a proxy.
    mutating func chooseRoute() {
        if case .resolve = step { step = .route }
    }

    /// A variable of the environment is no address of a proxy, and is not used for this relay.
    static func unusedProxy(_ fault: ProxySelector.Fault) -> DoctorLine {
        DoctorLine(
            check: .route, mark: .warn, found: "\(fault); it is not used for this address",
            advice: "correct or unset the variable")
    }

    /// The variable of the environment that would choose the proxy is no address of one.
    mutating func refuse(_ fault: ProxySelector.Fault) -> DoctorLine {
        let explanation = DoctorExplanation(
            .usage, "invalidProxy", "\(fault)", "correct or unset the variable, or give --proxy")
        return fail(.route, explanation)
    }

    /// The first route has answered, or none has; nil after the timeout. A failure of a direct connection is explained
    /// by the steps that follow.
    mutating func routed(_ result: Result<Int, RouteFailures>?, _ plan: RoutePlan?) -> [DoctorLine] {
        guard let endpoint, let plan else { return [] }
        let hasDirect = plan.candidates.contains { $0.proxy == nil && !$0.isWebSocket }
        switch result {
        case .success(let index)?:
            let route = plan.route(index)
            (self.route, hasFurtherRoute) = (route.name, plan.candidates.count > 1)
            step = route.isDirect ? .resolve(endpoint) : .secure(nil)
            return [
                DoctorLine(
                    check: .route, mark: .ok, found: "\(route)",
                    details: [
                        .init("route", .string(route.key)), .init("proxy", route.proxy.map { .string($0) } ?? .null),
                        .init("reason", .string("\(route.reason)")),
                    ])
            ]
        case .failure(let failures)?:
            var line = fail(.route, DoctorExplanation(failures), isLast: failures.captivePortal != nil || !hasDirect)
            guard case .route = step else { return [line] }
            step = .resolve(endpoint)
            line.mark = .warn
            return [line]
        case nil: return [fail(.route, DoctorExplanation(TransportError.timedOut))]
        }
    }

    /// The name was looked up.
    mutating func resolved(_ result: Result<[SocketAddress], TransportError>, after duration: Duration) -> [DoctorLine]
    {
        let addresses: [SocketAddress]
        switch result {
        case .success(let found) where !found.isEmpty: addresses = found
        case .success: return [fail(.name, DoctorExplanation(TransportError.noAddresses))]
        case .failure(.timedOut):
            let explanation = DoctorExplanation(
                .noHost, "timedOut", "the name was not resolved before the timeout", "check the DNS of this machine")
            return [fail(.name, explanation)]
        case .failure(let error): return [fail(.name, DoctorExplanation(error))]
        }
        step = .connect(addresses)
        let list = addresses.map { "\($0.ip) (\($0.ip.isIPv6 ? "IPv6" : "IPv4"))" }.joined(separator: ", ")
        return [
            DoctorLine(
                check: .name, mark: .ok, found: "\(list) in \(Quantity.text(duration))",
                details: [
                    .init("addresses", .array(addresses.map { .string("\($0.ip)") })),
                    .init("milliseconds", .milliseconds(duration)),
                ])
        ]
    }

    /// The connections to all addresses have ended. A failed address is a warning if another address answered.
    mutating func connected(_ results: [Connect]) -> [DoctorLine] {
        address = results.first { $0.error == nil }?.address
        if let address { step = .secure(address) }
        return results.map { result in
            let details = [JSONLine.Member("address", .string("\(result.address)"))]
            guard let error = result.error else {
                return DoctorLine(
                    check: .connect, mark: .ok, found: "\(result.address) in \(Quantity.text(result.duration))",
                    details: details + [.init("milliseconds", .milliseconds(result.duration))])
            }
            var explanation = DoctorExplanation(error)
            explanation.found = "\(result.address): \(explanation.found)"
            var line = fail(.connect, explanation, details, isLast: address == nil)
            if address != nil { line.mark = .warn }
            return line
        }
    }

    /// The connection is open, or has failed. `security` is nil without TLS.
    ///
    /// - Parameter wallClock: The time in milliseconds since 1970.
    mutating func secured(
        _ result: Result<TransportSecurity?, DoctorFailure>, after duration: Duration, wallClock: UInt64
    ) -> [DoctorLine] {
        guard let endpoint else { return [] }
        let security: TransportSecurity?
        switch result {
        case .success(let value): security = value
        case .failure(let failure):
            let isPlain = endpoint.security == .plain
            if case .transport(let error) = failure, let portal = CaptivePortal(error, isPlain: isPlain) {
                return [fail(.route, DoctorExplanation(portal))]
            }
            return [fail(isPlain ? .connect : .tls, failure.explanationWhenConnected)]
        }
        step = .greet
        guard let security else { return [] }
        let protocolName = security.applicationProtocol
        let tls = DoctorLine(
            check: .tls, mark: .ok,
            found: "\(security.version), \(security.cipher), \(protocolName), certificate verified for "
                + "\(endpoint.host), in \(Quantity.text(duration))",
            details: [
                .init("version", .string(security.version)), .init("cipher", .string(security.cipher)),
                .init("applicationProtocol", .string(protocolName)), .init("milliseconds", .milliseconds(duration)),
            ])
        guard let certificate = security.peerCertificate else { return [tls] }
        return [tls, line(of: certificate, wallClock: wallClock)]
    }

    private func line(of certificate: PeerCertificate, wallClock: UInt64) -> DoctorLine {
        let days = (certificate.notAfter - Int64(wallClock / 1000)) / 86_400
        let date = String(ClockText.utc(certificate.notAfter).prefix { $0 != "T" })
        let name = certificate.commonName
        var line = DoctorLine(
            check: .certificate, mark: .ok,
            found: "\(name ?? "no common name"), valid until \(date), \(days) days",
            details: [
                .init("subject", name.map { .string($0) } ?? .null), .init("until", .string(date)),
                .init("days", .integer(days)),
            ])
        if days < Self.minDays { (line.mark, line.advice) = (.warn, "renew the certificate of the relay soon") }
        return line
    }

    /// The relay has answered the hello. A relay that requires a client certificate refuses after the handshake.
    mutating func greeted(_ result: Result<Welcome, DoctorFailure>, after duration: Duration) -> [DoctorLine] {
        let welcome: Welcome
        switch result {
        case .success(let value): welcome = value
        case .failure(let failure):
            var explanation = failure.explanationWhenConnected
            switch failure {
            case .transport(.tls): return [fail(.tls, explanation)]
            case .ended where endpoint?.security == .plain, .transport(.reset) where endpoint?.security == .plain:
                // A TLS server ends a connection that does not begin with TLS.
                explanation.advice = "use martlets:// if the relay uses TLS, or check host and port"
            default: break
            }
            guard let route else { return [fail(.welcome, explanation)] }
            explanation.found = "\(route): \(explanation.found)"
            guard hasFurtherRoute, failure.isSilence else { return [fail(.welcome, explanation)] }
            // The next attempt of a client begins with the other routes, too (C-127).
            var line = fail(.welcome, explanation, isLast: false)
            (line.mark, step) = (.warn, .route)
            return [line]
        }
        step = .ping
        let limits = welcome.limits
        let features = welcome.features.names
        let sizes = [
            "body \(Quantity.text(byteCount: limits.maxBodyByteCount))",
            "message \(Quantity.text(byteCount: limits.maxMessageByteCount))",
            "link window \(Quantity.text(byteCount: limits.linkWindow))",
            "session window \(Quantity.text(byteCount: limits.sessionWindow))", "\(limits.maxSessions) sessions",
        ]
        return [
            DoctorLine(
                check: .welcome, mark: .ok,
                found: "account \(welcome.account.text), version \(welcome.version), "
                    + "features \(features.isEmpty ? "none" : features.joined(separator: " ")); "
                    + "limits: \(sizes.joined(separator: ", ")); in \(Quantity.text(duration))",
                details: [
                    .init("account", .string(welcome.account.text)), .init("version", .string("\(welcome.version)")),
                    .init("features", .array(features.map { .string($0) })),
                    .init("maxBody", .count(limits.maxBodyByteCount)),
                    .init("maxMessage", .count(limits.maxMessageByteCount)),
                    .init("linkWindow", .count(limits.linkWindow)),
                    .init("sessionWindow", .count(limits.sessionWindow)),
                    .init("maxSessions", .count(limits.maxSessions)), .init("milliseconds", .milliseconds(duration)),
                ])
        ]
    }

    /// The pings were answered, one after another.
    mutating func pinged(_ result: Result<[Duration], DoctorFailure>) -> [DoctorLine] {
        let times: [Duration]
        switch result {
        case .success(let value): times = value.sorted()
        case .failure(let failure): return [fail(.ping, failure.explanationWhenConnected)]
        }
        step = .compare
        guard let least = times.first, let most = times.last else { return [] }
        let median = times[times.count / 2]
        return [
            DoctorLine(
                check: .ping, mark: .ok,
                found: "\(times.count) round trips: minimum \(Quantity.text(least)), median \(Quantity.text(median)), "
                    + "maximum \(Quantity.text(most))",
                details: [
                    .init("minimum", .milliseconds(least)), .init("median", .milliseconds(median)),
                    .init("maximum", .milliseconds(most)),
                ])
        ]
    }

    /// Reports the difference between the relay's clock and that of this machine, positive if the relay's clock is
    /// ahead; nil if the relay does not report its time.
    mutating func compared(_ result: Result<Duration?, DoctorFailure>) -> [DoctorLine] {
        let difference: Duration?
        switch result {
        case .success(let value): difference = value
        case .failure(let failure): return [fail(.clock, failure.explanationWhenConnected)]
        }
        if let endpoint, endpoint.security == .tls {
            step = .resume(address)
        } else {
            step = .end(.success)
        }
        guard let difference else {
            return [DoctorLine(check: .clock, mark: .ok, found: "the relay does not report the time of its clock")]
        }
        let size = difference < .zero ? .zero - difference : difference
        let side = difference < .zero ? "behind" : "ahead of"
        var line = DoctorLine(
            check: .clock, mark: .ok, found: "the relay's clock is \(Quantity.text(size)) \(side) this machine's",
            details: [.init("milliseconds", .milliseconds(difference))])
        if size > Self.maxClockDifference {
            line.mark = .warn
            line.advice = "correct the clock that is wrong, since tokens and certificates depend on both"
        }
        return [line]
    }

    /// The second connection is open, or has failed. The first one worked, so a failure is a warning.
    mutating func resumed(
        _ result: Result<TransportSecurity?, DoctorFailure>, after duration: Duration
    ) -> [DoctorLine] {
        step = .end(.success)
        var line = DoctorLine(check: .resumption, mark: .warn, found: "")
        switch result {
        case .success(let security?) where security.isResumed:
            line.mark = .ok
            line.found = "a second connection resumed the TLS session in \(Quantity.text(duration))"
            line.details = [.init("milliseconds", .milliseconds(duration))]
        case .success:
            line.found = "a second connection did not resume the TLS session"
            line.advice = "relays behind one address need the same --ticket-keys"
        case .failure(let failure):
            line.found = "a second connection failed: \(failure.explanation.found)"
            line.advice = failure.explanation.advice
            line.details = [.init("error", .string(failure.explanation.name))]
        }
        return [line]
    }

    /// Returns the line of a failure, which ends the sequence if it is the last.
    private mutating func fail(
        _ check: DoctorLine.Check, _ explanation: DoctorExplanation, _ details: [JSONLine.Member] = [],
        isLast: Bool = true
    ) -> DoctorLine {
        if isLast { step = .end(explanation.code) }
        return DoctorLine(
            check: check, mark: .fail, found: explanation.found, advice: explanation.advice,
            details: details + [.init("error", .string(explanation.name))])
    }
}

/// The result of one check of `martlet doctor`, in one line.
struct DoctorLine: Equatable, Sendable {
    /// A check, by its name in the lines.
    enum Check: String, Sendable {
        case address, route, name, connect, tls, certificate, welcome, ping, clock, resumption, database, bus
    }

    /// The mark of a result.
    enum Mark: String, Sendable {
        case ok, warn, fail
    }

    var check: Check
    var mark: Mark
    /// The findings of the check.
    var found: String
    /// The next step of the user; nil if there is none.
    var advice: String?
    /// Further members of the JSON object.
    var details: [JSONLine.Member] = []

    private static let markWidth = 6
    private static let checkWidth = 13

    /// The line for people, safe for a terminal.
    var text: String {
        let mark = mark == .fail ? "FAIL" : mark.rawValue
        let sentence = found + (advice.map { "; \($0)" } ?? "")
        return Self.pad(mark, Self.markWidth) + Self.pad(check.rawValue, Self.checkWidth) + SafeText.line(sentence)
    }

    /// The line as a JSON object.
    var json: JSONLine {
        .object(
            [
                .init("check", .string(check.rawValue)), .init("mark", .string(mark.rawValue)),
                .init("found", .string(found)), .init("advice", advice.map { .string($0) } ?? .null),
            ] + details)
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 1))
    }
}
