package import MartletTransport

/// The failures of all routes of a race, in the order of the failures.
package struct RouteFailures: Error {
    /// The failure of a route.
    package struct Entry: Sendable {
        /// The number of the route in the plan.
        package let index: Int
        package let error: TransportError
    }

    package private(set) var entries: [Entry] = []
    private let plan: RoutePlan

    init(_ plan: RoutePlan) { self.plan = plan }

    mutating func add(_ error: TransportError, of index: Int) { entries.append(Entry(index: index, error: error)) }

    /// The interception of the connections by a captive portal, with the host of its page if an answer has named it;
    /// nil if the failures do not show one (C-130).
    ///
    /// A redirect of HTTP in place of the answer of a proxy, or to the request for a WebSocket without TLS, is one. So
    /// is an answer without TLS on one route, if every route that reached a peer met no TLS or a certificate that is
    /// not valid, on two routes at least.
    package var captivePortal: CaptivePortal? {
        var (reachedCount, strangerCount, hasPlainAnswer) = (0, 0, false)
        for entry in entries {
            if let portal = CaptivePortal(entry.error, isPlain: isPlain(entry.index)) { return portal }
            switch entry.error {
            case .tls(.notTLS):
                hasPlainAnswer = true
                strangerCount += 1
                reachedCount += 1
            case .tls(.wrongHost), .tls(.unknownIssuer), .tls(.selfSigned):
                strangerCount += 1
                reachedCount += 1
            case .tls, .webSocket: reachedCount += 1
            default: break
            }
        }
        return hasPlainAnswer && strangerCount > 1 && strangerCount == reachedCount ? CaptivePortal(host: nil) : nil
    }

    private func isPlain(_ index: Int) -> Bool { plan.candidates[index].endpoints.allSatisfy { $0.security == .plain } }

    /// The failure of the attempt: that of the route which the plan has first.
    package var failure: ConnectionFailure {
        if captivePortal != nil { return .captivePortal }
        guard let first = entries.min(by: { $0.index < $1.index }) else { return .unreachable }
        let hasProxy = plan.candidates[first.index].proxy != nil
        switch first.error {
        case .tls: return .tlsFailure
        case .proxy: return .proxyFailure
        case _ where hasProxy: return .proxyFailure
        default: return first.error.isRefusal ? .notListening : .unreachable
        }
    }

    /// The errors for people, with the routes if there are several.
    package var detail: String {
        if let captivePortal { return "\(captivePortal)" }
        return entries.map { entry in
            let text = text(of: entry)
            return plan.candidates.count > 1 || plan.candidates[entry.index].proxy != nil
                ? "\(plan.route(entry.index).name): \(text)" : text
        }.joined(separator: "; ")
    }

    /// The error of a connection to a proxy without the proxy's own address, which is no server's.
    private func text(of entry: Entry) -> String {
        guard plan.candidates[entry.index].proxy != nil, case .connectFailed(let failures) = entry.error else {
            return "\(entry.error)"
        }
        return failures.map { failure in
            failure.address.map { "\($0): \(failure.error)" } ?? "\(failure.error)"
        }.joined(separator: "; ")
    }
}

/// A network that answers in place of the server until its user has signed in.
package struct CaptivePortal: Hashable, Sendable, CustomStringConvertible {
    /// The host of the page to sign in; nil if no answer has named it.
    package let host: String?

    init(host: String?) { self.host = host }

    /// The captive portal that the error of one route shows: a redirect of HTTP in place of the answer of a proxy, or
    /// to the request for a WebSocket without TLS; nil for others.
    package init?(_ error: TransportError, isPlain: Bool) {
        switch error {
        case .proxy(.redirected(_, let host)): self.host = host
        case .webSocket(.refused(let status)) where isPlain && ((300..<400).contains(status) || status == 511):
            host = nil
        default: return nil
        }
    }

    /// A clause for people.
    package var description: String {
        "a captive portal of this network answers in place of the server; "
            + (host.map { "sign in at \($0)" } ?? "sign in with a browser")
    }
}

extension TransportError {
    /// Whether the host has answered that no server listens on the port (C-94).
    var isRefusal: Bool {
        switch self {
        case .refused: true
        case .connectFailed(let failures): failures.contains { $0.error == .refused }
        default: false
        }
    }
}
