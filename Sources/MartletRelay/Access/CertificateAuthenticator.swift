import MartletLink
import MartletTransport
public import MartletWire

/// Authenticates accounts by the certificates of their clients (C-73).
///
/// The relay needs `TLSServerOptions.clientCertificates`. The connection of a client ends when its certificate expires.
public struct CertificateAuthenticator: Authenticator {
    private let fallback: (any Authenticator)?
    private let wallClock: @Sendable () -> UInt64

    /// Creates an authenticator.
    ///
    /// - Parameter fallback: Authenticates the clients without a certificate; nil to refuse them. It must require a
    ///   credential, or such clients could claim the accounts of others.
    public init(fallback: (any Authenticator)? = nil) {
        self.init(fallback: fallback, wallClock: { EventLoop.wallClock })
    }

    /// - Parameter wallClock: returns milliseconds since 1970.
    init(fallback: (any Authenticator)? = nil, wallClock: @escaping @Sendable () -> UInt64) {
        self.fallback = fallback
        self.wallClock = wallClock
    }

    /// Returns the account of a certificate: the first e-mail address, otherwise the first URI, otherwise the common
    /// name. Returns nil if the certificate has none of them, or the text is not a valid account name.
    public static func account(of certificate: PeerCertificate) -> AccountName? {
        let text = certificate.emailAddresses.first ?? certificate.uris.first ?? certificate.commonName
        return text.flatMap { AccountName($0) }
    }

    /// Returns the account of the certificate.
    ///
    /// - Throws: `AuthenticationFailure` with the code `unauthenticated` and the cause if the client has no
    ///   certificate, or one that is for another account or has expired since the first handshake of a resumed session
    ///   (Specs/hostile.md row 57).
    public func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
        guard let certificate = request.certificate else {
            guard let fallback else {
                throw AuthenticationFailure.unauthenticated(because: "the client has no certificate")
            }
            return try await fallback.authenticate(request)
        }
        guard Self.account(of: certificate) == request.account else {
            throw AuthenticationFailure.unauthenticated(because: "the certificate is not for this account")
        }
        guard let expiresAt = UInt64(exactly: certificate.notAfter)?.multipliedReportingOverflow(by: 1000),
            !expiresAt.overflow, expiresAt.partialValue > wallClock()
        else { throw AuthenticationFailure.unauthenticated(because: "the certificate has expired") }
        return Identity(request.account, expiresAt: expiresAt.partialValue)
    }

    /// Begins an exchange of the fallback with a client without a certificate.
    ///
    /// - Throws: `AuthenticationFailure` with the code `unauthenticated` if the client has a certificate, which is its
    ///   only credential.
    public func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? {
        guard request.certificate == nil else {
            throw AuthenticationFailure(
                Notice(code: .unauthenticated, reason: "a client with a certificate uses no mechanism"))
        }
        return try fallback?.exchange(for: request)
    }
}
