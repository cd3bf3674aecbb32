import MartletTransport

/// The target of a redirect (C-58). A redirect from TLS to a carrier without TLS is refused, and one to a carrier
/// without TLS on another machine unless the client allows that.
enum RedirectTarget: Equatable {
    case endpoint(Endpoint)
    /// The redirect is not followed. The connection attempt fails with this failure.
    case refused(ConnectionFailure, detail: String)

    /// Parses the address in a redirect.
    ///
    /// - Parameters:
    ///   - endpoints: The addresses of the current relay. An address without a scheme has their security.
    ///   - allowsPlaintext: Whether the client connects to other machines without TLS.
    init(_ text: String, from endpoints: [Endpoint], allowsPlaintext: Bool) {
        let isSecure = endpoints.allSatisfy { $0.security == .tls }
        let endpoint: Endpoint
        do {
            endpoint = try Endpoint(parsing: text, defaultSecurity: isSecure ? .tls : .plain)
        } catch {
            self = .refused(.unreachable, detail: "the server redirects to \(text): \(error)")
            return
        }
        let mayBePlain = !isSecure && (endpoint.isLoopback || allowsPlaintext)
        guard endpoint.security == .tls || mayBePlain else {
            self = .refused(.tlsFailure, detail: "the server redirects to \(text), which is not TLS")
            return
        }
        self = .endpoint(endpoint)
    }
}
