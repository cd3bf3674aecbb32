import MartletProtocol
import MartletTransport

/// Where a redirect leads (C-58): never from TLS to a carrier without, and nowhere that this version cannot go.
enum RedirectTarget: Equatable {
    case endpoint(Endpoint)
    /// It is not followed; the attempt fails so.
    case refused(ConnectionFailure, detail: String)

    /// Reads what a server said.
    ///
    /// - Parameter endpoints: where the client was told to connect; a text without a scheme means a carrier like
    ///   theirs.
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
