import MartletProtocol
import MartletTransport

/// The target of a redirect (C-58). A redirect from TLS to a carrier without TLS is refused, and so is one to TLS,
/// which this version does not implement.
enum RedirectTarget: Equatable {
    case endpoint(Endpoint)
    /// The redirect is not followed. The connection attempt fails with this failure.
    case refused(ConnectionFailure, detail: String)

    /// Parses the address in a redirect.
    ///
    /// - Parameter endpoints: The addresses of the present relay. An address without a scheme has their security.
    init(_ text: String, from endpoints: [Endpoint]) {
        let isSecure = endpoints.allSatisfy { $0.security == .tls }
        let endpoint: Endpoint
        do {
            endpoint = try Endpoint(parsing: text, defaultSecurity: isSecure ? .tls : .plain)
        } catch {
            self = .refused(.unreachable, detail: "the server redirects to \(text): \(error)")
            return
        }
        switch endpoint.security {
        case .tls: self = .refused(.tlsFailure, detail: "the server redirects to \(text), and there is no TLS")
        case .plain where isSecure:
            self = .refused(.tlsFailure, detail: "the server redirects to \(text), which is not TLS")
        case .plain: self = .endpoint(endpoint)
        }
    }
}
