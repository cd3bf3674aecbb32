public import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// Authenticates accounts by signed tokens (RFC 7519): the credential of a client is a token whose `sub` is its
/// account.
///
/// The roles and texts of the token become the claims of the account. The connection of a client ends when its token
/// expires, at the end of the verifier's leeway (C-85), and the client continues with its next token.
public final class SignedTokenAuthenticator: Authenticator {
    private let verifier: Guarded<TokenVerifier>
    private let wallClock: @Sendable () -> UInt64

    /// Creates an authenticator.
    ///
    /// - Parameter verifier: The keys, and the required audience and issuer.
    public convenience init(_ verifier: TokenVerifier) {
        self.init(verifier, wallClock: { EventLoop.wallClock })
    }

    /// - Parameter wallClock: returns milliseconds since 1970.
    init(_ verifier: TokenVerifier, wallClock: @escaping @Sendable () -> UInt64) {
        self.verifier = Guarded(verifier)
        self.wallClock = wallClock
    }

    /// Replaces the keys and requirements for later connections, for example after a rotation of keys.
    public func setVerifier(_ verifier: TokenVerifier) {
        self.verifier.withLock { $0 = verifier }
    }

    /// Returns the account and the claims of the token.
    ///
    /// - Throws: `AuthenticationFailure` with the code `unauthenticated` and the cause if the token is not valid, or is
    ///   a token of another account.
    public func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
        let verifier = verifier.withLock { $0 }
        guard let credential = request.credential else { throw AuthenticationFailure.missingCredential }
        let claims: TokenClaims
        do { claims = try verifier.verify(credential.bytes, now: Int64(wallClock() / 1000)) } catch {
            throw AuthenticationFailure.unauthenticated(because: error.description)
        }
        guard claims.subject.utf8.elementsEqual(request.account.text.utf8) else {
            throw AuthenticationFailure.unauthenticated(because: "the token is for another account")
        }
        // Both ends of the validity have the same leeway. Otherwise a connection with a token that is accepted could
        // end at once (C-66).
        return Identity(
            request.account, claims: Claims(roles: claims.roles, values: claims.textClaims),
            expiresAt: UInt64(claims.expiresAt + verifier.leeway) * 1000)
    }
}
